"""Runs the git program. Only reads."""

import os
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gitops_dsf.errors import GitopsDsfError

_OF_THE_CALLER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Variables that git sets for its hooks. They would override the folder that was named."""


class RevisionError(GitopsDsfError):
    """A revision cannot be read. The message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The git repository that a folder belongs to."""

    directory: Path

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Returns the standard output of a git command. Raises RevisionError with git's message."""
        done = self.attempt(*arguments, stdin=stdin)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or f"git {arguments[0]} failed"
            msg = f"{self.directory}: {said.removeprefix('fatal: ')}"
            if "not a git repository" in said:
                msg += "; name the folder of the fleet repository in its clone"
            raise RevisionError(msg)
        return done.stdout

    def text(self, *arguments: str) -> str:
        """Returns the standard output without the last line break."""
        return os.fsdecode(self.run(*arguments)).rstrip("\n")

    def attempt(
        self, *arguments: str, stdin: bytes | None = None, seconds: float | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a git command that may fail, for at most this long. Raises RevisionError."""
        try:
            return subprocess.run(
                ["git", "-C", str(self.directory), *arguments],
                capture_output=True,
                check=False,
                env=_environment(),
                input=stdin or b"",
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise RevisionError(f"git {arguments[0]} takes longer than {seconds:g} s") from error
        except FileNotFoundError as error:
            raise RevisionError("git is not installed or not on PATH; revisions are read with it") from error

    @cached_property
    def top(self) -> Path:
        """The root of the working tree."""
        return Path(self.text("rev-parse", "--show-toplevel"))

    @cached_property
    def prefix(self) -> str:
        """The folder below `top`: empty, or with a slash at its end."""
        return self.text("rev-parse", "--show-prefix")

    @cached_property
    def is_shallow(self) -> bool:
        """Whether the clone is shallow."""
        return self.text("rev-parse", "--is-shallow-repository") == "true"

    def commit(self, revision: str) -> str | None:
        """The commit of a revision; None if there is none. Raises RevisionError outside of a
        git repository.
        """
        self.text("rev-parse", "--git-dir")
        done = self.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return done.stdout.decode().strip() if done.returncode == 0 else None


def _environment() -> dict[str, str]:
    """Disables optional locks: they refresh the index, which another git process may have locked."""
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_THE_CALLER}
    return {**inherited, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
