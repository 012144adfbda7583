"""Runs git in the repository that a folder belongs to."""

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile

from gitops_dsf.errors import GitopsDsfError

_OF_THE_CALLER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Variables that git sets for its hooks. They would override the folder that was named."""
SHORT = 10
"""Digits of a commit in messages."""


class RevisionError(GitopsDsfError):
    """Git cannot say what a revision or the index has. The message says what to do."""


def git_command(folder: Path) -> str:
    """The git command for a folder, as people can paste it where they run gitops-dsf."""
    return "git" if folder == Path() else f"git -C {shlex.quote(str(folder))}"


def top_of(folder: Path) -> Path | None:
    """The root of the working tree that a folder seems to be in; None outside of git.

    Does not run git.
    """
    real = folder.resolve()
    return next((each for each in (real, *real.parents) if (each / ".git").exists()), None)


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
        self,
        *arguments: str,
        stdin: bytes | None = None,
        seconds: float | None = None,
        index: Path | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a git command that may fail.

        It may take at most this long, and use another index than that of the repository. Raises
        RevisionError.

        It may take at most this long, and use another index than that of the repository. Raises
        RevisionError.
        """
        try:
            return subprocess.run(
                ["git", "-C", str(self.directory), *arguments],
                capture_output=True,
                check=False,
                env=_environment() | ({} if index is None else {"GIT_INDEX_FILE": str(index)}),
                input=stdin or b"",
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise RevisionError(f"git {arguments[0]} takes longer than {seconds:g} s") from error
        except FileNotFoundError as error:
            raise RevisionError(
                "git is not installed or not on PATH; it says which files a revision or the index"
                " has"
            ) from error

    def contents(self, objects: Sequence[str]) -> Iterator[bytes | None]:
        """Yields the content of each of these objects, in this order; None if the clone lacks it.

        Attributes of git change nothing in it. Raises RevisionError.
        """
        # The answer is on disk, because in memory a branch of scores is a third of what `explain` needs.
        with TemporaryFile(prefix="gitops-dsf-") as answer:
            try:
                done = subprocess.run(
                    ["git", "-C", str(self.directory), "cat-file", "--batch", "--buffer"],
                    stdout=answer,
                    stderr=subprocess.PIPE,
                    check=False,
                    env=_environment(),
                    input="".join(f"{name}\n" for name in objects).encode(),
                )
            except FileNotFoundError as error:
                raise RevisionError(
                    "git is not installed or not on PATH; objects are read with it"
                ) from error
            if done.returncode != 0:
                said = done.stderr.decode(errors="replace").strip()
                raise RevisionError(
                    f"{self.directory}: {said.removeprefix('fatal: ') or 'git cat-file failed'}"
                )
            answer.seek(0)
            for _ in objects:
                # `<object> <type> <size>`, or `<object> missing`.
                _, kind, *size = answer.readline().split()
                yield None if kind == b"missing" else answer.read(int(size[0]))
                if size:
                    answer.read(1)

    def index_of_hook(self) -> Path | None:
        """The index that git gave to the hook in which this runs, if it is one of this repository.

        `git commit -a` gives a hook another one than .git/index, which has what will be committed.
        """
        named = os.environ.get("GIT_INDEX_FILE")
        if not named:
            return None
        index = self.top / named
        folder = Path(self.text("rev-parse", "--absolute-git-dir"))
        return index if index.is_file() and index.parent.resolve() == folder.resolve() else None

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

    def parents(self, commit: str) -> list[str]:
        """The parents of a commit, also those that a shallow clone lacks. Raises RevisionError."""
        header = self.text("cat-file", "commit", commit).partition("\n\n")[0]
        return [
            line.removeprefix("parent ")
            for line in header.split("\n")
            if line.startswith("parent ")
        ]

    @property
    def as_shallow(self) -> tuple[str, ...]:
        """Options of `git fetch` for one commit of a branch.

        With --depth, a full clone becomes shallow.
        """
        return ("--depth=1",) if self.is_shallow else ()

    def commit(self, revision: str) -> str | None:
        """The commit of a revision; None if there is none.

        Raises RevisionError outside of a repository.
        """
        self.text("rev-parse", "--git-dir")
        done = self.attempt(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
        return done.stdout.decode().strip() if done.returncode == 0 else None


def _environment() -> dict[str, str]:
    """Disables optional locks: they refresh the index, which another git may have locked."""
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_THE_CALLER}
    return {**inherited, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
