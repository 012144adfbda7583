"""Runs the git program with a time limit and without the machine's configuration. A cancelled run ends with
all its child processes.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gitops_dsf.reconciler.git.credentials import Credentials
from gitops_dsf.reconciler.git.errors import Cause, GitError, cause_of, summary

LOCAL_SECONDS: Final = 120.0
"""Time limit of a command that needs no server."""
REMOTE_SECONDS: Final = 180.0
"""Time limit of a command that needs a server."""
END_SECONDS: Final = 2.0
"""Between SIGTERM and SIGKILL."""
OUTPUT_BYTES: Final = 64 << 20
"""Standard output at most, unless the caller says otherwise: a list of 500,000 files."""
ERROR_BYTES: Final = 64 << 10
"""Standard error that is kept at most. A server may send any amount."""
_STEP: Final = 64 << 10

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_KEPT: Final = frozenset(
    {"PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", *_PROXIES, *(name.upper() for name in _PROXIES)}
)
"""Variables that git inherits. None of them leads git to another repository, configuration or trace."""

_ALWAYS: Final = (
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.hooksPath", os.devnull),
    ("http.followRedirects", "false"),
    ("advice.pushUpdateRejected", "false"),
    # Git streams larger files to the disk, and holds smaller ones in memory.
    ("core.bigFileThreshold", "16m"),
)


class GitProgram:
    """Runs git on one bare repository, with the credentials of one server."""

    def __init__(self, *, folder: Path, repository: Path, credentials: Credentials) -> None:
        self._folder, self._repository, self._credentials = folder, repository, credentials

    async def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        server: str = "",
        seconds: float | None = None,
        most: int = OUTPUT_BYTES,
    ) -> bytes:
        """Returns standard output, of `most` bytes at most. `server` is the URL that the command needs, or
        empty. Raises GitError.
        """
        settings = [*_ALWAYS, *(self._credentials.configuration(server) if server else ())]
        environment = self._environment(server)
        bound = seconds or (REMOTE_SECONDS if server else LOCAL_SECONDS)
        command = [
            "git",
            *(part for name, value in settings for part in ("-c", f"{name}={value}")),
            *arguments,
        ]
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=self._folder,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            msg = (
                "git is not installed, or not on PATH"
                if self._folder.is_dir()
                else f"{self._folder} does not exist any more"
            )
            raise GitError(Cause.FAILED, msg) from error
        try:
            async with asyncio.timeout(bound):
                out, err = await _exchange(process, stdin, most=most)
        except TimeoutError as error:
            msg = f"git {arguments[0]} took longer than {bound:g} s"
            raise GitError(Cause.TIMED_OUT, msg) from error
        finally:
            await _end(process)
        if len(out) > most:
            msg = f"git {arguments[0]} was stopped because it wrote more than {most} bytes"
            raise GitError(Cause.FAILED, msg)
        if process.returncode != 0:
            raise self._error(arguments[0], out, err)
        return bytes(out)

    async def text(self, *arguments: str) -> str:
        """Standard output of a local command, without the last line break. Raises GitError."""
        return (await self.run(*arguments)).decode(errors="surrogateescape").rstrip("\n")

    def _error(self, verb: str, out: bytearray, err: bytearray) -> GitError:
        output = err.decode(errors="replace")
        if verb == "push":
            # The report has the refused branches and the reasons. Standard error has neither.
            output = "\n".join(
                [
                    *(line[1:] for line in out.decode(errors="replace").splitlines() if line.startswith("!")),
                    output,
                ]
            )
        words = summary(self._credentials.cleaned(output))
        return GitError(cause_of(output), f"git {verb}: {words or 'failed without a message'}")

    def _environment(self, server: str) -> Mapping[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if name in _KEPT},
            # Without the .netrc, .gitconfig and SSH agent of the user who started the process.
            "HOME": str(self._folder),
            "GIT_DIR": str(self._repository),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
            **(self._credentials.ssh_command(server) if server else {}),
        }


async def _exchange(
    process: asyncio.subprocess.Process, stdin: bytes, *, most: int
) -> tuple[bytearray, bytearray]:
    """Standard output and standard error. Stops reading after ``most`` bytes of output."""
    err = bytearray()
    rest = asyncio.gather(_feed(process, stdin), _take(process.stderr, into=err, keep=ERROR_BYTES))
    out = bytearray()
    try:
        await _take(process.stdout, into=out, most=most)
        if len(out) <= most:
            await rest
            await process.wait()
    finally:
        rest.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await rest
    return out, err


async def _feed(process: asyncio.subprocess.Process, content: bytes) -> None:
    """Writes all of standard input, unless git ends earlier."""
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(content)
        await process.stdin.drain()
    process.stdin.close()


async def _take(
    stream: asyncio.StreamReader | None, *, into: bytearray, keep: int | None = None, most: int | None = None
) -> None:
    """Reads to the end, or until more than ``most`` bytes were read. Keeps ``keep`` bytes at most."""
    while stream is not None and (piece := await stream.read(_STEP)):
        into += piece if keep is None else piece[: max(0, keep - len(into))]
        if most is not None and len(into) > most:
            return


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends git and its child processes, and closes their pipes. On SIGTERM git removes its lock files."""
    if process.returncode is None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await process.wait()
                    break
    # A pipe stays open while it holds output that nobody has read.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await asyncio.gather(
                *(_take(stream, into=bytearray(), keep=0) for stream in (process.stdout, process.stderr))
            )
