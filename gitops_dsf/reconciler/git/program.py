"""Runs programs with a limit for their time. A run that was cancelled ends with all its child processes."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.reconciler.git.credentials import Credentials, GitError

SECONDS: Final = 180.0
MOST_QUOTED: Final = 400
"""Characters of git's messages in an error."""

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_KEPT: Final = frozenset(
    {"PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", *_PROXIES, *(name.upper() for name in _PROXIES)}
)
"""Variables that git inherits. None of them leads git to another repository, configuration or trace."""

_ALWAYS: Final = (
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.hooksPath", os.devnull),
    ("core.sparseCheckout", "true"),
    ("http.followRedirects", "false"),
    ("advice.pushUpdateRejected", "false"),
    # Git streams larger files to the disk, and holds smaller ones in memory.
    ("core.bigFileThreshold", "16m"),
)


async def run(
    command: Sequence[str],
    *,
    what: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float = SECONDS,
) -> tuple[int, bytes, bytes]:
    """Returns the exit code, standard output and standard error. Raises GitError, which names `what`."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate(stdin)
    except TimeoutError as error:
        msg = f"{what}: it took longer than {seconds:g} s"
        raise GitError(msg) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            # A pipe stays open while it holds output that nobody has read.
            await process.communicate()
    return process.returncode or 0, out, err


class GitProgram:
    """Runs git on one repository and its working tree, with the credentials of its server."""

    def __init__(self, *, folder: Path, tree: Path, url: str, credentials: Credentials) -> None:
        self._folder, self._tree, self._url, self._credentials = folder, tree, url, credentials

    async def run(self, *arguments: str, stdin: bytes = b"", **variables: str) -> bytes:
        """Returns standard output. Raises GitError."""
        settings = [*_ALWAYS, *self._credentials.configuration(self._url)]
        environment = {
            **{name: value for name, value in os.environ.items() if name in _KEPT},
            # Without the .netrc, .gitconfig and SSH agent of the user who started the process.
            "HOME": str(self._folder.parent),
            # Outside of the working tree: no file in it can be a setting of git.
            "GIT_DIR": str(self._folder),
            "GIT_WORK_TREE": str(self._tree),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
            **self._credentials.ssh_command(self._url),
            **variables,
        }
        command = ["git", *(part for name, value in settings for part in ("-c", f"{name}={value}"))]
        try:
            code, out, err = await run(
                [*command, *arguments],
                what=f"git {arguments[0]}",
                folder=self._tree,
                environment=environment,
                stdin=stdin,
            )
        except FileNotFoundError as error:
            msg = (
                "git is not installed, or not on PATH"
                if self._tree.is_dir()
                else f"{self._tree} does not exist any more"
            )
            raise GitError(msg) from error
        if code:
            words = summary(self._credentials.cleaned(err.decode(errors="replace")))
            msg = f"git {arguments[0]}: {words or 'failed without a message'}"
            raise GitError(msg)
        return out

    async def text(self, *arguments: str, stdin: bytes = b"", **variables: str) -> str:
        """Standard output without the last line break. Raises GitError."""
        out = await self.run(*arguments, stdin=stdin, **variables)
        return out.decode(errors="surrogateescape").rstrip("\n")


def summary(output: str) -> str:
    """Git's messages in one line, without hints and decorations."""
    lines = [line.strip() for line in output.splitlines()]
    kept = [
        re.sub(r"^(fatal|error|remote): *", "", line)
        for line in lines
        if line and not line.startswith(("hint:", "To ", "Done"))
    ]
    return printable("; ".join(line for line in kept if line), most=MOST_QUOTED)
