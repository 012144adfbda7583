"""Runs git in the repository that a folder belongs to.

Guaranteed: git asks for no password, takes no optional lock, and speaks English. Not guaranteed:
that the configuration of the user has no effect; credentials and proxies come from it.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

from gitops_dsf.errors import GitopsDsfError

SHORT: Final = 10
"""Digits of a commit in messages."""

_SET_FOR_HOOKS: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Variables that git sets for its hooks. They would override the folder that was named."""

_OBJECT_HEADER: Final = re.compile(rb"([0-9a-f]+) (\w+) ([0-9]+)\n")
"""The line of `git cat-file --batch` before the content of an object: its name, kind and size."""


class RevisionError(GitopsDsfError):
    """Git cannot say what a revision or the index has. The message says what to do."""


def git_command(folder: Path) -> str:
    """The git command for a folder, as people can paste it where they run gitops-dsf."""
    return "git" if folder == Path() else f"git -C {shlex.quote(str(folder))}"


def top_of(folder: Path) -> Path | None:
    """The root of the working tree that a folder seems to be in; None outside of git.

    Does not run git, so it also answers where git is not installed.
    """
    real = folder.resolve()
    for candidate in (real, *real.parents):
        # A folder in a clone, and a file in a worktree or a submodule.
        if (candidate / ".git").exists():
            return candidate
    return None


def git_message(completed: subprocess.CompletedProcess[bytes]) -> str:
    """The message of git about a failure; empty if it has none."""
    return _message(completed.stderr)


def _message(stderr: bytes) -> str:
    return stderr.decode(errors="replace").strip().removeprefix("fatal: ")


def _failed(directory: Path, reason: str) -> RevisionError:
    """The error for a git command that failed in a folder."""
    # The usual mistake, for which git's own message has no advice. See LC_ALL below.
    if "not a git repository" in reason:
        return RevisionError(
            f"{directory}: {reason}; name the folder of the fleet repository in its clone"
        )
    return RevisionError(f"{directory}: {reason}")


def _not_installed() -> RevisionError:
    return RevisionError(
        "git is not installed or not on PATH; it says which files a revision or the index has"
    )


class Object(NamedTuple):
    """An object of a repository."""

    name: str
    """The hash by which git knows it."""
    kind: str
    """blob, tree, commit or tag."""
    content: bytes


class Objects:
    """Reads objects of a repository, all by one process of git, which the first question starts."""

    def __init__(self, directory: Path, *, ended_with: ExitStack) -> None:
        self._directory = directory
        self._ended_with = ended_with

    def find(self, name: bytes) -> Object | None:
        """The object of this name; None if there is none. Raises RevisionError."""
        # Each question is a line, so no object has a name of two.
        if b"\n" in name:
            return None
        # One question at a time: no pipe fills up, and one object is in memory.
        try:
            # Past the buffer, which would be written again when the pipe is closed.
            os.write(self._questions.fileno(), name + b"\n")
        except BrokenPipeError as error:
            raise self._failure() from error
        answer = self._answers.readline()
        if not answer:
            raise self._failure()
        # Without an object git answers with the line, and "missing" or "ambiguous" behind it.
        header = _OBJECT_HEADER.fullmatch(answer)
        if header is None:
            return None
        content = self._answers.read(int(header[3]))
        # A line break ends the answer.
        if not self._answers.read(1):
            raise self._failure()
        return Object(header[1].decode(), header[2].decode(), content)

    @cached_property
    def _process(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                ["git", "-C", str(self._directory), "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=_environment(),
            )
        except FileNotFoundError as error:
            raise _not_installed() from error
        return self._ended_with.enter_context(process)

    @cached_property
    def _errors(self) -> IO[bytes]:
        # Standard error is not a pipe, because nothing reads one meanwhile: some hundred messages
        # of git would fill it.
        return self._ended_with.enter_context(TemporaryFile(prefix="gitops-dsf-"))

    @property
    def _questions(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        return self._process.stdin

    @property
    def _answers(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        return self._process.stdout

    def _failure(self) -> RevisionError:
        """The reason why git ended before it answered."""
        self._process.wait()
        self._errors.seek(0)
        return _failed(self._directory, _message(self._errors.read()) or "git cat-file failed")


@contextmanager
def _objects_of(directory: Path) -> Iterator[Objects]:
    """Context manager for the objects of the repository that a folder belongs to."""
    with ExitStack() as ended_with:
        yield Objects(directory, ended_with=ended_with)


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The git repository that a folder belongs to."""

    directory: Path
    objects: Objects | None = None
    """Reads the objects. Without it, a process of git is started for every question about them."""

    @contextmanager
    def reading(self) -> Iterator["Repository"]:
        """Context manager for this repository with one process of git for all its objects."""
        with self.reader() as objects:
            yield replace(self, objects=objects)

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Returns the standard output of a git command. Raises RevisionError with git's message."""
        completed = self.attempt(*arguments, stdin=stdin)
        if completed.returncode != 0:
            raise _failed(self.directory, git_message(completed) or f"git {arguments[0]} failed")
        return completed.stdout

    def text(self, *arguments: str) -> str:
        """Returns the standard output without the last line break. Raises RevisionError."""
        return os.fsdecode(self.run(*arguments)).rstrip("\n")

    def attempt(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        seconds: float | None = None,
        index: Path | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a git command that may fail.

        The command has a time limit in seconds, and may use another index than that of the
        repository. Raises RevisionError if it takes longer, or git is not installed.
        """
        environment = _environment()
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        try:
            return subprocess.run(
                ["git", "-C", str(self.directory), *arguments],
                capture_output=True,
                check=False,
                env=environment,
                # Standard input is never the terminal's: git must not wait for input.
                input=stdin or b"",
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise RevisionError(f"git {arguments[0]} takes longer than {seconds:g} s") from error
        except FileNotFoundError as error:
            raise _not_installed() from error

    def contents(self, objects: Iterable[str]) -> Iterator[bytes | None]:
        """Yields the content of each of these objects, in this order; None if the clone lacks it.

        Attributes of git change nothing in it. Raises RevisionError.
        """
        with self.reader() as reader:
            for name in objects:
                blob = reader.find(name.encode())
                yield None if blob is None else blob.content

    def reader(self) -> AbstractContextManager[Objects]:
        """Context manager for the process that reads objects: that of `reading`, or a new one."""
        if self.objects is not None:
            return nullcontext(self.objects)
        return _objects_of(self.directory)

    def index_of_hook(self) -> Path | None:
        """The index that git gave to the hook in which this runs, if it is one of this repository.

        `git commit -a` gives a hook another one than .git/index, which has what will be committed.
        """
        named = os.environ.get("GIT_INDEX_FILE")
        if not named:
            return None
        # Git may give hooks a path that is relative to the root of the working tree.
        index = self.top / named
        folder = Path(self.text("rev-parse", "--absolute-git-dir"))
        is_of_this_repository = index.parent.resolve() == folder.resolve()
        return index if index.is_file() and is_of_this_repository else None

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
        """The parents of a commit, also those that a shallow clone lacks. Raises RevisionError.

        The commit object names them; `git rev-list --parents` leaves out those that are not there.
        """
        # An empty line ends the header. The message behind it may have any line.
        header = self.text("cat-file", "commit", commit).partition("\n\n")[0]
        parents: list[str] = []
        for line in header.split("\n"):
            if line.startswith("parent "):
                parents.append(line.removeprefix("parent "))
        return parents

    @property
    def as_shallow(self) -> tuple[str, ...]:
        """Options of `git fetch` for one commit of a branch.

        Only for shallow clones, because --depth makes a full clone shallow.
        """
        return ("--depth=1",) if self.is_shallow else ()

    def commit(self, revision: str) -> str | None:
        """The commit of a revision; None if there is none.

        Raises RevisionError outside a repository.
        """
        return self.commits([revision])[0]

    def commits(self, revisions: Sequence[str]) -> list[str | None]:
        """The commit of each revision; None for one that there is not. Git is started once.

        Raises RevisionError outside a repository.
        """
        # A revision comes from the command line. It may begin like an option, and git looks for
        # none in its input. ^{commit} makes a tag the commit that it names.
        names = [os.fsencode(f"{revision}^{{commit}}") for revision in revisions]
        with self.reader() as reader:
            commits = [reader.find(name) for name in names]
        return [None if commit is None else commit.name for commit in commits]


def _environment() -> dict[str, str]:
    """The variables of a git command."""
    inherited = {name: value for name, value in os.environ.items() if name not in _SET_FOR_HOOKS}
    return {
        **inherited,
        # Optional locks refresh the index, which another git may have locked.
        "GIT_OPTIONAL_LOCKS": "0",
        # In a pipeline there is no one to answer, and the command would wait for ever.
        "GIT_TERMINAL_PROMPT": "0",
        # Messages are searched for English words.
        "LC_ALL": "C",
    }
