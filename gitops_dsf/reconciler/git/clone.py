"""A shallow bare clone of the fleet repository: it reads, commits and pushes without a working tree."""

import asyncio
import contextlib
import posixpath
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git.commit import Author, commit_stream
from gitops_dsf.reconciler.git.credentials import Credentials
from gitops_dsf.reconciler.git.errors import Cause, GitError
from gitops_dsf.reconciler.git.program import GitProgram
from gitops_dsf.reconciler.settings import GitSettings

RENEW_AFTER: Final = 200
"""Commits fetched or made, after which the clone is created again, so that old objects do not pile up."""
READ_BYTES: Final = 128 << 20
"""Size of all files that are read at once, at most. The sources of 2,000 clusters have about 10 MB."""
MAX_LINKS: Final = 8
"""Symbolic links that are followed one after the other."""
_HEADS: Final = "refs/heads/"
_OURS: Final = "refs/gitops-dsf/"
_FILE, _LINK = "100", "120000"
"""What the mode of a file begins with, and the mode of a symbolic link."""
_BATCH_LINE: Final = 128
"""Bytes around a blob in the output of `git cat-file --batch`: its name, its size and two line breaks."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A path of a commit. A submodule has no size."""

    mode: str
    blob: str
    size: int


class Clone:
    """Owns a folder. One command at a time; safe to share between tasks. Commits are named by their full id.

    Every method raises GitError. A method that was cancelled may have pushed or not; `heads` tells.
    """

    def __init__(
        self,
        *,
        settings: GitSettings,
        folder: Path,
        renew_after: int = RENEW_AFTER,
        read_bytes: int = READ_BYTES,
    ) -> None:
        self._url, self._protected = settings.url, settings.branch
        self._folder = folder / "repository.git"
        self.author = Author.parse(settings.author)
        self._git = GitProgram(
            folder=folder, repository=self._folder, credentials=Credentials(folder=settings.credentials)
        )
        self._renew_after, self._read_bytes = renew_after, read_bytes
        self._lock = asyncio.Lock()
        self._fetched: dict[str, str] = {}
        self._created, self._new_commits = False, 0

    async def heads(self, *names: str) -> dict[str, str]:
        """Branches of the server with their commits. A name may end with `*` as a wildcard.

        Call it at the beginning of a pass: it sometimes creates the clone again, without its commits.
        """
        async with self._lock:
            await self._ready(renew=True)
            out = await self._git.run(
                "ls-remote", "--heads", self._url, *(_HEADS + name for name in names), server=self._url
            )
        found = (line.split("\t", 1) for line in out.decode(errors="surrogateescape").splitlines())
        return {ref.removeprefix(_HEADS): commit for commit, ref in found}

    async def fetch(self, branch: str) -> str:
        """Fetches the newest commit of a branch, without its history. GitError (Missing): no such branch."""
        async with self._lock:
            await self._ready()
            mine = f"{_OURS}heads/{branch}"
            await self._git.run(
                "fetch",
                "--quiet",
                "--no-tags",
                "--depth=1",
                self._url,
                f"+{_HEADS}{branch}:{mine}",
                server=self._url,
            )
            commit = _first_id((self._folder / "FETCH_HEAD").read_bytes())
            self._new_commits += self._fetched.get(branch) != commit
            self._fetched[branch] = commit
            return commit

    def holds(self, commit: str) -> bool:
        """Whether this commit is the newest that was fetched of a branch, and is still in the clone."""
        return commit in self._fetched.values()

    async def paths(self, commit: str) -> frozenset[str]:
        """Every path of a fetched commit, without its folders."""
        async with self._lock:
            return frozenset(await self._tree(commit))

    async def read(self, commit: str, wanted: Callable[[str], bool] = lambda _path: True) -> dict[str, bytes]:
        """Files of a fetched commit whose path is wanted, byte for byte; no submodules.

        A symbolic link counts as the file in the commit that it leads to. A link that leads elsewhere is left
        out. GitError (Failed): the files have more than `read_bytes` bytes together. A file counts once for
        each path that leads to it.
        """
        async with self._lock:
            tree = await self._tree(commit)
            plain = {path: entry for path, entry in tree.items() if entry.mode.startswith(_FILE)}
            linked = await self._blobs(
                commit, {path: entry for path, entry in tree.items() if entry.mode == _LINK}
            )
            links = {path: content.decode(errors="surrogateescape") for path, content in linked.items()}
            found = ((path, link_target(path, links=links, files=plain)) for path in tree if wanted(path))
            return await self._blobs(
                commit, {path: plain[target] for path, target in found if target is not None}
            )

    async def _blobs(self, commit: str, chosen: Mapping[str, _Entry]) -> dict[str, bytes]:
        """Contents by path. Paths with the same blob share its bytes."""
        if not chosen:
            return {}
        total = sum(entry.size for entry in chosen.values())
        if total > self._read_bytes:
            path, entry = max(chosen.items(), key=lambda item: item[1].size)
            msg = (
                f"{len(chosen)} files of commit {commit} have {total} bytes together, and at most"
                f" {self._read_bytes} are read; the largest is {path} with {entry.size}. Remove large files,"
                " and symbolic links to them, from the repository"
            )
            raise GitError(Cause.FAILED, msg)
        sizes = {entry.blob: entry.size for entry in chosen.values()}
        out = await self._git.run(
            "cat-file",
            "--batch",
            stdin="".join(f"{blob}\n" for blob in sizes).encode(),
            most=sum(sizes.values()) + _BATCH_LINE * len(sizes),
        )
        contents: dict[str, bytes] = {}
        at = 0
        for blob, size in sizes.items():
            end = out.index(b"\n", at)
            if out[at:end].decode() != f"{blob} blob {size}":
                path = next(path for path, entry in chosen.items() if entry.blob == blob)
                raise GitError(Cause.FAILED, f"git cat-file: {path} of {commit} cannot be read")
            contents[blob] = out[end + 1 : end + 1 + size]
            at = end + size + 2
        return {path: contents[entry.blob] for path, entry in chosen.items()}

    async def written_by(self, commit: str) -> str:
        """Author of a fetched commit, as `Name <mail>`. The committer when the author is the reconciler:
        amending keeps the author.
        """
        async with self._lock:
            names = await self._git.text(
                "show", "--no-patch", "--no-mailmap", "--format=%an <%ae>%n%cn <%ce>", commit
            )
        author, committer = names.split("\n")
        return committer if author == str(self.author) else author

    async def committed_at(self, commit: str) -> datetime:
        """When a fetched commit was made."""
        async with self._lock:
            return datetime.fromisoformat(await self._git.text("show", "--no-patch", "--format=%cI", commit))

    async def commit(
        self, *, parent: str | None, files: Mapping[str, bytes | None], message: str, at: datetime
    ) -> str:
        """Creates a commit and does not push it: the parent's files with these changes (None removes a file).
        Without a parent it holds these files alone.
        """
        async with self._lock:
            await self._ready()
            self._new_commits += 1
            modes = {path: entry.mode for path, entry in (await self._tree(parent)).items()} if parent else {}
            for path in files:
                if not modes.get(path, _FILE).startswith(_FILE):
                    raise GitError(
                        Cause.FAILED,
                        f"{path} is a symbolic link or a submodule in the repository; it is not overwritten",
                    )
                for folder in map(str, PurePosixPath(path).parents):
                    if folder in modes:
                        raise GitError(
                            Cause.FAILED,
                            f"{folder} is not a folder in the repository, so {path} cannot be written",
                        )
            ref = f"{_OURS}new"
            stream = commit_stream(
                ref=ref, parent=parent, files=files, modes=modes, message=message, author=self.author, at=at
            )
            return _first_id(await self._git.run("fast-import", "--quiet", "--force", "--done", stdin=stream))

    async def push(self, commit: str, *, branch: str, expected: str | None) -> None:
        """Makes a branch of the server point at a commit if it points at `expected` now (None: it does not
        exist). Otherwise GitError (Rejected).

        This overwrites the history of the branch. For the protected branch use `advance`.
        """
        self._refuse_protected(branch)
        async with self._lock:
            await self._push(
                f"{commit}:{_HEADS}{branch}", f"--force-with-lease={_HEADS}{branch}:{expected or ''}"
            )

    async def advance(self, commit: str, *, branch: str) -> None:
        """Adds commits to a branch of the server without force. GitError (Rejected) when the branch is no
        longer at the parent.
        """
        async with self._lock:
            await self._push(f"{commit}:{_HEADS}{branch}")

    async def delete(self, *, branch: str, expected: str) -> None:
        """Deletes a branch of the server if it points at `expected` now. Otherwise GitError (Rejected)."""
        self._refuse_protected(branch)
        async with self._lock:
            await self._push(f":{_HEADS}{branch}", f"--force-with-lease={_HEADS}{branch}:{expected}")

    def _refuse_protected(self, branch: str) -> None:
        """Never overwrite or delete the branch that Argo CD follows."""
        if branch == self._protected:
            raise GitError(
                Cause.REJECTED, f"{branch} is the protected branch; it is never overwritten or deleted"
            )

    async def _push(self, refspec: str, *options: str) -> None:
        await self._git.run(
            "push", "--porcelain", "--no-verify", *options, self._url, refspec, server=self._url
        )

    async def _ready(self, *, renew: bool = False) -> None:
        """Creates an empty repository on first use. Removes what a killed process left behind."""
        if self._created and not (renew and self._new_commits >= self._renew_after):
            return
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        await self._git.run("init", "--quiet", "--bare", "--template=")
        self._fetched.clear()
        self._created, self._new_commits = True, 0

    async def _tree(self, commit: str) -> dict[str, _Entry]:
        """Every path of a commit, without its folders.

        Raises GitError (Failed) when a path is both a file and a folder: git can store such a tree, and no
        file system can.
        """
        out = await self._git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        entries = (
            entry.split("\t", 1) for entry in out.decode(errors="surrogateescape").split("\0") if entry
        )
        tree: dict[str, _Entry] = {}
        for about, path in entries:
            mode, _, blob, size = about.split()
            tree[path] = _Entry(mode=mode, blob=blob, size=int(size) if size.isdigit() else 0)
        folders = {folder for path in tree for folder in _folders(path)}
        if both := sorted(folders & tree.keys()):
            msg = f"{both[0]} is a file and a folder in commit {commit}; remove one of them"
            raise GitError(Cause.FAILED, msg)
        return tree


def _first_id(output: bytes) -> str:
    """The object id that a line of git begins with."""
    return output.split(maxsplit=1)[0].decode()


def _folders(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def link_target(path: str, *, links: Mapping[str, str], files: Container[str]) -> str | None:
    """The file that a path stands for: itself, or the file in the commit that its symbolic links lead to.
    None when they lead to no file of the commit. Files of the machine are never reached.
    """
    for _ in range(MAX_LINKS):
        if path in files:
            return path
        if path not in links:
            return None
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), links[path]))
    return None


@contextlib.asynccontextmanager
async def work_folder(settings: GitSettings, name: str) -> AsyncIterator[Path]:
    """An empty folder for the clone of one controller: below --work-dir, or a temporary folder. It is removed
    at the end. Raises RepositoryError.
    """
    folder = settings.work_dir / name if settings.work_dir else None
    try:
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix=f"gitops-dsf-{name}-"))
        else:
            # A killed process may have left incomplete files.
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        msg = (
            f"--work-dir {error.filename}: {error.strerror}; it must be a folder that this process may"
            " write to"
        )
        raise RepositoryError(msg) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
