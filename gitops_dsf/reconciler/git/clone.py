"""A shallow clone of the fleet's repository that fetches only the files that are asked for.

One commit of each branch is fetched, without its history and without the contents of files; git
fetches a content when it is read or checked out. So a repository of 55 MB needs 400 kB here. Files
under `rendered/` are never checked out.

Guaranteed:
- The protected branch is never overwritten or deleted. Any other branch changes only if it is still
  at the commit that the caller expects, because each push has a lease.
- `may_push` is called right before each push, so that a replica that lost its leadership does not
  push.
- Nothing of the user who started the process, and nothing in the repository, changes what git does:
  no configuration, hook, .netrc or SSH agent. Errors of git are cleaned of credentials.
- After a failure or a cancellation the next `heads` creates the clone again.

Not guaranteed:
- That a push that failed or was cancelled had no effect. The next `heads` shows where the branch
  is.
- That contents of files can be read without the server: each first read may need it.
- That submodules and LFS objects are there. `lost_sources` names the sources that are missing.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git import program
from gitops_dsf.reconciler.git.credentials import GitCredentials, GitError
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.recorded.compare import lost
from gitops_dsf.repository.recorded.entries import Entry, index_entries

RENEW_AFTER: Final = 200
"""Commits fetched or made, after which the clone is created again.

So old objects do not pile up.
"""
_HEADS: Final = "refs/heads/"
_REMOTE: Final = "origin"
_IMPORTED: Final = "refs/gitops-dsf/imported"
"""Git imports commits into a ref."""
_FILE_MODE: Final = "100644"
MAX_QUOTED: Final = 400
"""Characters of git's messages in an error."""

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_KEPT: Final = frozenset(
    {
        "PATH",
        "TMPDIR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        *_PROXIES,
        *(name.upper() for name in _PROXIES),
    }
)
"""Variables that git inherits.

None of them leads git to another repository, configuration or trace.
"""

_ALWAYS: Final = (
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.hooksPath", os.devnull),
    ("core.sparseCheckout", "true"),
    ("http.followRedirects", "false"),
    ("advice.pushUpdateRejected", "false"),
    # Git streams larger files to the disk, and holds smaller ones in memory.
    ("core.bigFileThreshold", "16m"),
    # Git would start another process to unpack what it imported.
    ("fastimport.unpackLimit", "0"),
)


class Clone:
    """A folder with one clone. It allows one call at a time. Commits are named by their full id.

    Every method raises GitError. A method that was cancelled may have pushed or not; `heads` tells.
    After a failure the clone is created again.
    """

    def __init__(
        self, *, settings: GitSettings, folder: Path, may_push: Callable[[], None] = lambda: None
    ) -> None:
        self._may_push = may_push
        self._url = settings.url
        self._protected = settings.branch
        self._folder = folder / "repository.git"
        self.author = settings.author
        self.tree = folder / "tree"
        self.head = ""
        """The commit that was checked out; empty if there is none."""
        self._credentials = GitCredentials(folder=settings.credentials)
        name, _, mail = self.author.removesuffix(">").partition(" <")
        self._identity = (("user.name", name), ("user.email", mail))
        self._created = False
        self._commits = 0
        self._seen: dict[str, str] = {}
        """Branches of the server with the commits at which they were seen last."""
        self._here: dict[str, str] = {}
        """Branches with the commits that the clone has of them."""

    async def heads(self, *names: str) -> dict[str, str]:
        """Branches of the server with their commits.

        A name may end with `*` as a wildcard. A pass begins with it: it sometimes creates the clone
        again, without its commits.
        """
        if not self._created or self._commits >= RENEW_AFTER:
            await self._create()
        out = await self._run("ls-remote", "--heads", _REMOTE, *(_HEADS + name for name in names))
        lines = (line.split("\t", 1) for line in out.splitlines())
        self._seen = {ref.removeprefix(_HEADS): commit for commit, ref in lines}
        return dict(self._seen)

    async def fetch(self, branch: str) -> str:
        """Fetches the newest commit of a branch, or the one of the last `heads` if it is here.

        It comes without its history, and without the contents of files.
        """
        here = self._here.get(branch)
        if here is not None and here == self._seen.get(branch):
            return here
        self._commits += 1
        refs = f"+{_HEADS}{branch}:refs/gitops-dsf/heads/{branch}"
        await self._run(
            "fetch", "--quiet", "--no-tags", "--depth=1", "--filter=blob:none", _REMOTE, refs
        )
        # Git writes there what it fetched, so no other process has to look.
        commit = (self._folder / "FETCH_HEAD").read_text(encoding="utf-8").split(maxsplit=1)[0]
        self._here[branch] = commit
        return commit

    async def checkout(self, commit: str, *, folder: str) -> None:
        """Makes the working tree this folder of a fetched commit, without its rendered/."""
        below = re.sub(r"([\\*?\[\] ])", r"\\\1", f"/{folder}/" if folder else "/")
        patterns = self._folder / "info/sparse-checkout"
        patterns.parent.mkdir(exist_ok=True)
        patterns.write_text(f"{below}*\n!{below}rendered/\n", encoding="utf-8")
        await self._run("checkout", "--quiet", "--force", "--detach", commit)
        # A new working tree needs no cleaning: nothing has written to it yet.
        if self.head:
            await self._run("clean", "--quiet", "-ffdx")
        self.head = commit

    async def lost_sources(self, *, folder: str) -> list[str]:
        """Sources of the fleet that the commit has and the working tree lacks.

        `folder` is that of the fleet. A clone of the reconciler fills no submodule.
        """
        below = (f":(literal){folder}",) if folder else ()
        listing = await self._bytes("ls-files", "-z", "--stage", "-t", "--", *below)
        prefix = f"{folder}/" if folder else ""
        entries: list[Entry] = []
        for entry in index_entries(listing):
            entries.append(replace(entry, path=entry.path.removeprefix(prefix)))
        return await asyncio.to_thread(lost, self.tree / folder, entries)

    async def files(self, commit: str) -> dict[str, str]:
        """The mode and the object of every file of a fetched commit, as in `file_entry`."""
        out = await self._run("ls-tree", "-r", "-z", "--full-tree", commit)
        found: dict[str, str] = {}
        for line in out.split("\0")[:-1]:
            about, _, path = line.partition("\t")
            mode, _, object_id = about.split(" ")
            found[path] = f"{mode} {object_id}"
        return found

    async def read(self, commit: str, name: str) -> bytes:
        return await self._bytes("cat-file", "blob", f"{commit}:{name}")

    async def changes(self, before: str, after: str) -> dict[str, str]:
        """The paths that differ between two commits.

        Each with the mode and the object that the second commit has.
        """
        out = await self._run(
            "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", before, after
        )
        fields = out.split("\0")
        return {
            path: " ".join(about.split()[1:4:2])
            for about, path in zip(fields[:-1:2], fields[1::2], strict=True)
        }

    async def written_by(self, commit: str) -> str:
        """The author of a fetched commit, as `Name <mail>`.

        If another person amended our commit, it is the committer.
        """
        names = await self._run(
            "show", "--no-patch", "--no-mailmap", "--format=%an <%ae>%n%cn <%ce>", commit
        )
        author, committer = names.split("\n")
        return committer if author == self.author else author

    async def committed_at(self, commit: str) -> datetime:
        return datetime.fromisoformat(await self._run("show", "--no-patch", "--format=%cI", commit))

    async def commit(self, names: Iterable[str], *, parent: str, message: str, at: datetime) -> str:
        """A commit of the parent's files, where these paths are as in the working tree.

        It is not pushed.
        """
        self._commits += 1
        index = str(self._folder / "index.new")
        await self._run("read-tree", parent, GIT_INDEX_FILE=index)
        paths = "".join(f"{name}\0" for name in names).encode(errors="surrogateescape")
        update = ("update-index", "--add", "--remove", "-z", "--stdin")
        await self._run(*update, stdin=paths, GIT_INDEX_FILE=index)
        # Files that did not change were never fetched.
        tree = await self._run("write-tree", "--missing-ok", GIT_INDEX_FILE=index)
        when = _when(at)
        return await self._run(
            "commit-tree",
            "-p",
            parent,
            tree,
            stdin=f"{message.rstrip()}\n".encode(),
            GIT_AUTHOR_DATE=when,
            GIT_COMMITTER_DATE=when,
        )

    async def commit_files(
        self, files: Mapping[str, bytes], *, parent: str | None, message: str, at: datetime
    ) -> str:
        """A commit of the parent's files and these, without the working tree.

        It is not pushed. It takes one process, and no copy of large files in memory.
        """
        self._commits += 1
        commands = self._folder / "commands"
        await asyncio.to_thread(self._write_import, commands, files, parent, message, at)
        return await self._run("fast-import", "--quiet", "--done", "--force", stdin=commands)

    def _write_import(
        self,
        commands: Path,
        files: Mapping[str, bytes],
        parent: str | None,
        message: str,
        at: datetime,
    ) -> None:
        """Writes the commands of git fast-import."""
        signed = f"{self.author} {_when(at)}"
        head = f"commit {_IMPORTED}\nmark :1\nauthor {signed}\ncommitter {signed}\n"
        with commands.open("wb") as file:
            file.write(head.encode())
            file.write(_data(f"{message.rstrip()}\n".encode()))
            if parent is not None:
                file.write(f"from {parent}\n".encode())
            for path, content in files.items():
                quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
                file.write(f'M {_FILE_MODE} inline "{quoted}"\n'.encode(errors="surrogateescape"))
                file.write(_data(content))
            file.write(b"get-mark :1\ndone\n")

    async def push(self, commit: str | None, *, branch: str, expected: str | None) -> None:
        """Makes a branch point at a commit, or deletes it (None).

        It does so only if the branch is at `expected` (None: absent). Raises GitError, and ApiError
        when another replica may lead: fetching and committing can take minutes.
        """
        if branch == self._protected:
            msg = f"{branch} is the protected branch; it is never overwritten or deleted"
            raise GitError(msg)
        self._may_push()
        # Each push replaces a branch. The lease makes the server refuse it if the branch has
        # changed.
        lease = f"--force-with-lease={_HEADS}{branch}:{expected or ''}"
        await self._run(
            "push", "--quiet", "--no-verify", lease, _REMOTE, f"{commit or ''}:{_HEADS}{branch}"
        )
        if commit is not None:
            self._here[branch] = commit

    async def _run(self, *arguments: str, stdin: bytes | Path = b"", **variables: str) -> str:
        """Standard output without the last line break."""
        out = await self._bytes(*arguments, stdin=stdin, **variables)
        return out.decode(errors="surrogateescape").rstrip("\n")

    async def _bytes(self, *arguments: str, stdin: bytes | Path = b"", **variables: str) -> bytes:
        try:
            return await self._git(*arguments, stdin=stdin, **variables)
        except BaseException:
            # A git that was killed may have left lock files or half of an object.
            self._created = False
            raise

    async def _git(self, *arguments: str, stdin: bytes | Path, **variables: str) -> bytes:
        environment = {
            **{name: value for name, value in os.environ.items() if name in _KEPT},
            # Without the .netrc, .gitconfig and SSH agent of the user who started the process.
            "HOME": str(self._folder.parent),
            # Outside of the working tree: no file in it can be a setting of git.
            "GIT_DIR": str(self._folder),
            "GIT_WORK_TREE": str(self.tree),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
            **variables,
        }
        command = f"git {arguments[0]}"
        with self._credentials.usable(scratch=self._folder.parent) as credentials:
            remote = (f"remote.{_REMOTE}.url", self._url)
            settings = (*_ALWAYS, remote, *self._identity, *credentials.settings(self._url))
            options: list[str] = []
            for name, value in settings:
                options += ["-c", f"{name}={value}"]
            try:
                code, out, err = await program.run(
                    ("git", *options, *arguments),
                    what=command,
                    folder=self.tree,
                    environment=environment,
                    stdin=stdin,
                )
            except FileNotFoundError as error:
                # The error is the same for a missing program and a missing folder to run it in.
                if self.tree.is_dir():
                    raise GitError("git is not installed, or not on PATH") from error
                raise GitError(f"{self.tree} does not exist any more") from error
        if code:
            # Git quotes URLs and headers, and servers quote what they got.
            words = _summary(self._credentials.cleaned(err.decode(errors="replace")))
            raise GitError(f"{command}: {words or 'failed without a message'}")
        return out

    async def _create(self) -> None:
        self.head = ""
        for folder in (self._folder, self.tree):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        self.tree.mkdir()
        await self._run("init", "--quiet", "--template=")
        self._created = True
        self._commits = 0
        self._here.clear()


def file_entry(content: bytes) -> str:
    """The mode and the object that a commit has for a file with this content."""
    head = f"blob {len(content)}\0".encode()
    return f"{_FILE_MODE} {hashlib.sha1(head + content, usedforsecurity=False).hexdigest()}"


def _when(at: datetime) -> str:
    """A time as git reads it."""
    return f"{int(at.timestamp())} {at:%z}"


def _data(content: bytes) -> bytes:
    """A value in the commands of git fast-import."""
    return b"data %d\n%b\n" % (len(content), content)


def _summary(output: str) -> str:
    """Git's messages in one line, without hints and decorations."""
    messages: list[str] = []
    for line in map(str.strip, output.splitlines()):
        if line.startswith(("hint:", "To ", "Done")):
            continue
        message = re.sub(r"^(fatal|error|remote): *", "", line)
        if message:
            messages.append(message)
    return printable("; ".join(messages), max_characters=MAX_QUOTED)


@contextlib.asynccontextmanager
async def working_clone(
    settings: GitSettings, name: str, *, may_push: Callable[[], None]
) -> AsyncIterator[Clone]:
    """The clone of one controller, in a folder that is removed at the end.

    Raises RepositoryError. `may_push` raises ApiError when another replica may lead.
    """
    folder = settings.work_dir.absolute() / name if settings.work_dir else None
    try:
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix=f"gitops-dsf-{name}-"))
        else:
            # A killed process may have left incomplete files.
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        msg = (
            f"--work-dir {error.filename}: {error.strerror}; it must be a folder that"
            " this process may write to"
        )
        raise RepositoryError(msg) from error
    try:
        yield Clone(settings=settings, folder=folder, may_push=may_push)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
