"""Git in memory.

What the reconciler's clones run as a child process, and the server of the repository.

Only what the clones of the state branch, the journal and the proposals use. Ids are those of the
real git, and `test_git.py` compares every answer with it.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Final

import httpx

from gitops_dsf.reconciler.git.program import Finished
from tests.support.agent.http import RecordedRequest, SentReply
from tests.world.loop import PROGRAM, world_loop
from tests.world.network import Answer, Arrived, Network, WorldServer

HOST: Final = "git.example.com"
PATH: Final = "/team/fleet.git"
URL: Final = f"https://{HOST}{PATH}"
MAIN: Final = "main"
HEADS: Final = "refs/heads/"
Files = Mapping[str, str]
"""The id of each file's content, by path."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    files: Files
    parents: tuple[str, ...]
    author: str
    """And committer, as `Name <mail>`."""
    when: str
    """Seconds since 1970, and the offset."""


@dataclass(frozen=True, kw_only=True)
class Push:
    """A push that the server took."""

    branch: str
    before: str | None
    after: str | None


class Repository(WorldServer):
    """The server. `pushed` is called after each push that it took."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, Files] = {}
        self.commits: dict[str, Commit] = {}
        self.branches: dict[str, str] = {}
        self.pushed: Callable[[Push], None] = lambda _push: None

    def answered(self, seen: RecordedRequest) -> Answer:
        if seen.method == "PUSH":
            asked = json.loads(seen.body)
            branch, before, after = asked["branch"], asked["before"] or None, asked["after"] or None
            if self.branches.get(branch) != before:
                return SentReply(status=409)
            if after is None:
                self.branches.pop(branch, None)
            else:
                self.branches[branch] = after
            self.pushed(Push(branch=branch, before=before, after=after))
        return SentReply.of(self.branches)

    def read(self, branch: str) -> dict[str, bytes]:
        """The files of a branch; none if there is no such branch."""
        return self.files(self.branches.get(branch))

    def files(self, commit: str | None) -> dict[str, bytes]:
        if commit is None:
            return {}
        return {path: self.blobs[blob] for path, blob in self.commits[commit].files.items()}

    def ahead(self, base: str, branch: str) -> int:
        """The number of commits of a branch that its base lacks."""
        return len(self._history(self.branches[branch]) - self._history(self.branches[base]))

    def merge_base(self, base: str, branch: str) -> str:
        """The newest commit of a branch that its base has, by first parents."""
        known = self._history(self.branches[base])
        commit = self.branches[branch]
        while commit not in known:
            commit = self.commits[commit].parents[0]
        return commit

    def has(self, branch: str, commit: str) -> bool:
        """Whether a branch contains a commit."""
        return commit in self._history(self.branches[branch])

    def _history(self, commit: str) -> set[str]:
        """A commit and all before it."""
        seen: set[str] = set()
        left = [commit]
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += self.commits[name].parents
        return seen

    def changed(self, commit: str) -> dict[str, bytes | None]:
        """The files that a commit changed, as it has them; None for those that it removed."""
        made = self.commits[commit]
        before = self.commits[made.parents[0]].files if made.parents else {}
        return {
            path: self.blobs[made.files[path]] if path in made.files else None
            for path in _in_order({**before, **made.files})
            if before.get(path) != made.files.get(path)
        }

    def made(
        self,
        files: Mapping[str, bytes],
        *,
        branch: str,
        author: str,
        message: str,
        moment: float,
        parents: Sequence[str] | None = None,
    ) -> str:
        """Somebody commits these files on top of a branch, or of `parents`, and pushes."""
        if parents is None:
            parents = [self.branches[branch]] if branch in self.branches else []
        blobs = {path: self.blob(content) for path, content in files.items()}
        commit = self.commit(
            self.tree(blobs),
            parents=parents,
            author=author,
            when=f"{int(moment)} +0000",
            message=message.encode(),
        )
        self.branches[branch] = commit
        return commit

    def commit(
        self, tree: str, *, parents: Sequence[str], author: str, when: str, message: bytes
    ) -> str:
        """Stores a commit. Returns its id."""
        head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        head += [f"author {author} {when}", f"committer {author} {when}", "", ""]
        name = _id("commit", "\n".join(head).encode() + message)
        self.commits[name] = Commit(
            files=self.trees[tree], parents=tuple(parents), author=author, when=when
        )
        return name

    def blob(self, content: bytes) -> str:
        name = _id("blob", content)
        self.blobs[name] = content
        return name

    def tree(self, files: Files) -> str:
        """The id of a folder, with those below."""
        below: dict[str, dict[str, str]] = {}
        entries: list[tuple[bytes, bytes]] = []
        for path, blob in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                below.setdefault(first, {})[rest] = blob
            else:
                entries.append(
                    (first.encode(), b"100644 %b\0%b" % (first.encode(), bytes.fromhex(blob)))
                )
        for name, inner in below.items():
            line = b"40000 %b\0%b" % (name.encode(), bytes.fromhex(self.tree(inner)))
            # Git sorts a folder as if its name ended with a slash.
            entries.append((f"{name}/".encode(), line))
        name = _id("tree", b"".join(line for _, line in sorted(entries)))
        self.trees[name] = dict(files)
        return name


class Git:
    """In place of the git program: `run` has the signature of clone.run."""

    def __init__(self, network: Network, repository: Repository) -> None:
        self._network, self._repository = network, repository
        self._indexes: dict[str, dict[str, str]] = {}
        self._checked_out: dict[str, str] = {}
        """The commit that each clone has in its working tree."""

    async def run(
        self,
        command: Sequence[str],
        *,
        what: str,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        stdin: bytes | Path = b"",
        seconds: float = 180.0,
    ) -> Finished:
        del what, folder
        words, settings = list(command[1:]), dict[str, str]()
        while words[0] == "-c":
            key, _, settings[key] = words[1].partition("=")
            del words[:2]
        verb, *arguments = words
        place = dict(environment or {})
        given = stdin.read_bytes() if isinstance(stdin, Path) else stdin
        try:
            return Finished(
                0, await self._do(verb, arguments, place, settings, given, seconds), b""
            )
        except httpx.HTTPError as error:
            return Finished(128, b"", f"fatal: unable to access '{URL}/': {error}".encode())
        except _RefusedError as error:
            return Finished(1, b"", f"error: {error}".encode())

    async def _do(
        self,
        verb: str,
        arguments: list[str],
        place: dict[str, str],
        settings: Mapping[str, str],
        stdin: bytes,
        seconds: float,
    ) -> bytes:
        repository, clone = self._repository, place["GIT_DIR"]
        match verb:
            case "init":
                Path(clone).mkdir(parents=True)
                return b""
            case "ls-remote":
                heads = await self._ask("LS-REMOTE", {}, seconds)
                wanted = [name for name in arguments if name.startswith(HEADS)]
                lines = (
                    f"{commit}\t{HEADS}{name}\n"
                    for name, commit in sorted(heads.items())
                    if any(fnmatchcase(HEADS + name, pattern) for pattern in wanted)
                )
                return "".join(lines).encode()
            case "fetch":
                source, _, _ = arguments[-1].removeprefix("+").partition(":")
                heads = await self._ask("FETCH", {}, seconds)
                branch = source.removeprefix(HEADS)
                if branch not in heads:
                    raise _RefusedError(f"couldn't find remote ref {source}")
                line = f"{heads[branch]}\t\tbranch '{branch}' of {URL}\n"
                Path(clone, "FETCH_HEAD").write_text(line, encoding="utf-8")
                return b""
            case "ls-tree":
                files = self._commit(arguments[-1]).files
                return "".join(
                    f"100644 blob {files[path]}\t{path}\0" for path in _in_order(files)
                ).encode()
            case "fast-import":
                return self._imported(stdin).encode() + b"\n"
            case "cat-file":
                name, _, path = arguments[-1].partition(":")
                # The clone has no contents of files: they are fetched one by one.
                await self._ask("FETCH", {}, seconds)
                return repository.blobs[self._commit(name).files[path]]
            case "diff-tree":
                return _difference(
                    self._commit(arguments[-2]).files, self._commit(arguments[-1]).files
                )
            case "checkout":
                self._checked_out[clone] = arguments[-1]
                self._fill(Path(place["GIT_WORK_TREE"]), self._commit(arguments[-1]).files)
                return b""
            case "clean":
                # A checkout leaves nothing else in the working tree.
                return b""
            case "ls-files":
                files = self._commit(self._checked_out[clone]).files
                return "".join(
                    f"H 100644 {files[path]} 0\t{path}\0" for path in _in_order(files)
                ).encode()
            case "show" if "--format=%an <%ae>%n%cn <%ce>" in arguments:
                author = self._commit(arguments[-1]).author
                return f"{author}\n{author}\n".encode()
            case "show":
                assert "--format=%cI" in arguments, arguments
                when = int(self._commit(arguments[-1]).when.split()[0])
                return (
                    datetime.fromtimestamp(when, UTC).isoformat().replace("+00:00", "Z").encode()
                    + b"\n"
                )
            case "read-tree":
                self._indexes[place["GIT_INDEX_FILE"]] = dict(self._commit(arguments[0]).files)
                return b""
            case "update-index":
                index = place["GIT_INDEX_FILE"]
                for path in stdin.decode().split("\0")[:-1]:
                    file = Path(place["GIT_WORK_TREE"], path)
                    if file.is_file():
                        self._indexes[index][path] = repository.blob(file.read_bytes())
                    else:
                        self._indexes[index].pop(path, None)
                return b""
            case "write-tree":
                return repository.tree(self._indexes[place["GIT_INDEX_FILE"]]).encode() + b"\n"
            case "commit-tree":
                parents = tuple(word for before, word in pairwise(arguments) if before == "-p")
                commit = repository.commit(
                    arguments[-1],
                    parents=parents,
                    author=f"{settings['user.name']} <{settings['user.email']}>",
                    when=place["GIT_AUTHOR_DATE"],
                    message=stdin,
                )
                return commit.encode() + b"\n"
            case "push":
                lease = next(word for word in arguments if word.startswith("--force-with-lease="))
                expected = lease.partition("=")[2].partition(":")[2]
                commit, _, ref = arguments[-1].partition(":")
                branch = ref.removeprefix(HEADS)
                await self._ask(
                    "PUSH", {"branch": branch, "before": expected, "after": commit}, seconds
                )
                return b""
        # Of git it models what the reconciler sends: a new command of it has to be added here.
        raise NotImplementedError(f"git {verb} {arguments}")

    def _imported(self, commands: bytes) -> str:
        """The commit that commands of fast-import make."""
        lines = BytesIO(commands)
        author, message = "", b""
        files = dict[str, str]()
        parents: tuple[str, ...] = ()

        def data(line: bytes) -> bytes:
            content = lines.read(int(line.removeprefix(b"data ")))
            assert lines.read(1) == b"\n"
            return content

        for line in lines:
            word, _, rest = line.decode().rstrip("\n").partition(" ")
            match word:
                case "author":
                    author = rest
                case "data":
                    message = data(line)
                case "from":
                    parents = (rest,)
                    files |= self._commit(rest).files
                case "M":
                    mode, inline, path = rest.split(" ", 2)
                    assert (mode, inline) == ("100644", "inline")
                    files[json.loads(path)] = self._repository.blob(data(lines.readline()))
                case _:
                    assert word in {"commit", "mark", "committer", "get-mark", "done"}, line
        name, when = author[: author.index("> ") + 1], author[author.index("> ") + 2 :]
        tree = self._repository.tree(files)
        return self._repository.commit(
            tree, parents=parents, author=name, when=when, message=message
        )

    def _commit(self, name: str) -> Commit:
        return self._repository.commits[name]

    def _fill(self, tree: Path, files: Files) -> None:
        """Makes the working tree these files."""
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        for path, blob in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(self._repository.blobs[blob])

    async def _ask(self, method: str, asked: Mapping[str, str], seconds: float) -> dict[str, str]:
        """Asks the server. What is sent goes on when the program is frozen or killed."""
        network, program = self._network, PROGRAM.get()
        assert program is not None
        seen = RecordedRequest(
            method=method,
            target=PATH,
            headers={},
            body=json.dumps(asked).encode(),
            at=_now(),
        )
        arrived: Arrived = await network.exchange(program, seen, host=HOST, read=seconds)
        if arrived.status == 409:
            raise _RefusedError("failed to push some refs: stale info")
        if arrived.status != 200 or not isinstance(arrived.content, bytes):
            raise httpx.HTTPError(f"The requested URL returned error: {arrived.status}")
        heads: dict[str, str] = json.loads(arrived.content)
        return heads


class _RefusedError(Exception):
    """Git ended with an error."""


def _now() -> float:
    return world_loop().time()


def _id(kind: str, content: bytes) -> str:
    return hashlib.sha1(
        f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False
    ).hexdigest()


def _in_order(files: Files) -> list[str]:
    return sorted(files, key=str.encode)


def _difference(before: Files, after: Files) -> bytes:
    none, mode = "0" * 40, "100644"
    found: list[str] = []
    for path in _in_order({**before, **after}):
        was, now = before.get(path), after.get(path)
        if was == now:
            continue
        letter = "A" if was is None else "D" if now is None else "M"
        modes = f":{mode if was else '000000'} {mode if now else '000000'}"
        found.append(f"{modes} {was or none} {now or none} {letter}\0{path}\0")
    return "".join(found).encode()
