"""A shallow bare clone of the fleet repository: read, commit and push without a working tree."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

from gitops_dsf.reconciler.git.author import Author
from gitops_dsf.reconciler.git.credentials import Credentials
from gitops_dsf.reconciler.git.links import target_of
from gitops_dsf.reconciler.git.program import GitProgram
from gitops_dsf.reconciler.git.stream import commit_stream
from gitops_dsf.reconciler.git.trouble import Cause, GitError
from gitops_dsf.reconciler.settings import GitSettings

RENEW_AFTER: Final = 200
"""Commits fetched or made, after which the clone is made anew: old ones would pile up."""
READ_BYTES: Final = 128 << 20
"""Of files that are read at once. The sources of 2,000 clusters have some 10 MB."""
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

    Every method raises GitError. A method that was cancelled has either pushed or not; asking `heads` tells.
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
        self._turn = asyncio.Lock()
        self._fetched: dict[str, str] = {}
        self._begun, self._news = False, 0

    async def heads(self, *names: str) -> dict[str, str]:
        """Branches of the server with their commits: those named, where `*` at the end of a name stands for
        any rest.

        A pass begins with it: now and then the clone is made anew here, and then no commit is known any more.
        """
        async with self._turn:
            await self._ready(renew=True)
            out = await self._git.run(
                "ls-remote", "--heads", self._url, *(_HEADS + name for name in names), server=self._url
            )
        found = (line.split("\t", 1) for line in out.decode(errors="surrogateescape").splitlines())
        return {ref.removeprefix(_HEADS): commit for commit, ref in found}

    async def fetch(self, branch: str) -> str:
        """The newest commit of a branch, without its history. GitError (Missing): there is no such branch."""
        async with self._turn:
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
            commit = await self._git.text("rev-parse", "--verify", f"{mine}^{{commit}}")
            self._news += self._fetched.get(branch) != commit
            self._fetched[branch] = commit
            return commit

    def holds(self, commit: str) -> bool:
        """Whether the newest fetch of some branch brought this commit, and it is still here."""
        return commit in self._fetched.values()

    async def read(self, commit: str, wanted: Callable[[str], bool] = lambda _path: True) -> dict[str, bytes]:
        """Files of a fetched commit whose path is wanted, byte for byte; no submodules.

        A symbolic link counts as the file of the commit that it leads to; one that leads elsewhere is left
        out. GitError (Failed): the files have more than `read_bytes` bytes together, where a file counts once
        for each path that leads to it.
        """
        async with self._turn:
            tree = await self._tree(commit)
            plain = {path: entry for path, entry in tree.items() if entry.mode.startswith(_FILE)}
            linked = await self._blobs(
                commit, {path: entry for path, entry in tree.items() if entry.mode == _LINK}
            )
            links = {path: content.decode(errors="surrogateescape") for path, content in linked.items()}
            found = ((path, target_of(path, links=links, files=plain)) for path in tree if wanted(path))
            return await self._blobs(
                commit, {path: plain[target] for path, target in found if target is not None}
            )

    async def _blobs(self, commit: str, chosen: Mapping[str, _Entry]) -> dict[str, bytes]:
        """Contents by path. Paths of one blob share its bytes."""
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
        """Author of a fetched commit, as `Name <mail>`; the committer where only the author is us: amending
        keeps the author.
        """
        async with self._turn:
            told = await self._git.text(
                "show", "--no-patch", "--no-mailmap", "--format=%an <%ae>%n%cn <%ce>", commit
            )
        author, committer = told.split("\n")
        return committer if author == str(self.author) else author

    async def committed_at(self, commit: str) -> datetime:
        """When a fetched commit was made."""
        async with self._turn:
            return datetime.fromisoformat(await self._git.text("show", "--no-patch", "--format=%cI", commit))

    async def commit(
        self, *, parent: str | None, files: Mapping[str, bytes | None], message: str, at: datetime
    ) -> str:
        """A new commit: the parent's files with these changes (None removes one); without a parent these
        files alone. Not pushed yet.
        """
        async with self._turn:
            await self._ready()
            self._news += 1
            modes = {path: entry.mode for path, entry in (await self._tree(parent)).items()} if parent else {}
            for path in files:
                if not modes.get(path, _FILE).startswith(_FILE):
                    raise GitError(
                        Cause.FAILED,
                        f"{path} is a symbolic link or a submodule in the repository; it is not written over",
                    )
                for folder in map(str, PurePosixPath(path).parents):
                    if folder in modes:
                        raise GitError(
                            Cause.FAILED, f"{folder} is no folder in the repository, so {path} is not written"
                        )
            ref = f"{_OURS}new"
            stream = commit_stream(
                ref=ref, parent=parent, files=files, modes=modes, message=message, author=self.author, at=at
            )
            await self._git.run("fast-import", "--quiet", "--force", "--done", stdin=stream)
            return await self._git.text("rev-parse", "--verify", f"{ref}^{{commit}}")

    async def push(self, commit: str, *, branch: str, expected: str | None) -> None:
        """Makes a branch of the server point at a commit, if it points at `expected` now (None: does not
        exist). Else GitError (Rejected).

        The branch's history is not looked at: this overwrites. For the protected branch there is `advance`.
        """
        self._refuse_protected(branch)
        async with self._turn:
            await self._push(
                f"{commit}:{_HEADS}{branch}", f"--force-with-lease={_HEADS}{branch}:{expected or ''}"
            )

    async def advance(self, commit: str, *, branch: str) -> None:
        """Adds commits to a branch of the server without force: GitError (Rejected) when it has moved on
        since the parent.
        """
        async with self._turn:
            await self._push(f"{commit}:{_HEADS}{branch}")

    async def delete(self, *, branch: str, expected: str) -> None:
        """Removes a branch of the server if it points at `expected` now. Else GitError (Rejected)."""
        self._refuse_protected(branch)
        async with self._turn:
            await self._push(f":{_HEADS}{branch}", f"--force-with-lease={_HEADS}{branch}:{expected}")

    def _refuse_protected(self, branch: str) -> None:
        """Whatever a caller asks for: the branch that Argo CD follows is neither overwritten nor removed."""
        if branch == self._protected:
            raise GitError(
                Cause.REJECTED, f"{branch} is the protected branch; it is neither overwritten nor removed"
            )

    async def _push(self, refspec: str, *options: str) -> None:
        await self._git.run(
            "push", "--porcelain", "--no-verify", *options, self._url, refspec, server=self._url
        )

    async def _ready(self, *, renew: bool = False) -> None:
        """An empty repository where there is none; what a killed process left is gone."""
        if self._begun and not (renew and self._news >= self._renew_after):
            return
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        await self._git.run("init", "--quiet", "--bare", "--template=")
        self._fetched.clear()
        self._begun, self._news = True, 0

    async def _tree(self, commit: str) -> dict[str, _Entry]:
        """Every path of a commit, those of its folders excepted.

        Raises GitError (Failed) for a path that is a file and a folder: git keeps such trees, made by hand,
        and no file system does.
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


def _folders(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
