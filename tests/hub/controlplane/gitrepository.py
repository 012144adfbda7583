"""A git repository of a test.

A bare one that is served, and a clone from which the test commits.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Final, Self

from tests.support.environment import GIT_CONFIGURATION

BARE: Final = "bare.git"
CLONE: Final = "clone"
ORIGIN: Final = b"/the/bare/repository"
"""In the configuration of the first clone, instead of the path of the bare repository."""


class GitError(Exception):
    """git refused; the message is its own."""


def git(*arguments: str, folder: Path) -> str:
    """Standard output of `git arguments` in `folder`, free of the configuration of the person who
    runs the tests.
    """
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": GIT_CONFIGURATION,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "A Platform Engineer",
        "GIT_AUTHOR_EMAIL": "platform@example.com",
        "GIT_COMMITTER_NAME": "A Platform Engineer",
        "GIT_COMMITTER_EMAIL": "platform@example.com",
    }
    answer = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if answer.returncode != 0:
        raise GitError(
            f"git {' '.join(arguments)}: {answer.stderr.strip() or answer.stdout.strip()}"
        )
    return answer.stdout


@cache
def _first_files() -> dict[PurePath, bytes]:
    """The files of a bare repository and of its clone.

    They are made once, because it takes ten processes.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare, clone = folder / BARE, folder / CLONE
        git(
            "init", "--quiet", "--bare", "--template=", "--initial-branch=main", BARE, folder=folder
        )
        git("config", "http.receivepack", "true", folder=bare)
        git("config", "receive.autogc", "false", folder=bare)
        git("init", "--quiet", "--template=", "--initial-branch=main", CLONE, folder=folder)
        git("remote", "add", "origin", str(bare), folder=clone)
        git("commit", "--quiet", "--allow-empty", "--message", "Begin", folder=clone)
        git("push", "--quiet", "origin", "main", folder=clone)
        git("config", "remote.origin.url", ORIGIN.decode(), folder=clone)
        return {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }


def _packs(folder: Path) -> set[str]:
    """The packs of objects of a repository. Their names are hashes of what they hold."""
    return {path.name for path in (folder / "objects/pack").glob("*.pack")}


def _head(folder: Path) -> str:
    """The commit of main, empty where it has no file of its own."""
    file = folder / "refs/heads/main"
    return file.read_text(encoding="ascii").strip() if file.exists() else ""


@dataclass(frozen=True, kw_only=True)
class GitRepository:
    """`url` is what Argo CD is given; `clone` is a work tree on `main` for programs that want
    files.
    """

    url: str
    bare: Path
    clone: Path

    @classmethod
    def create(cls, *, url: str, bare: Path, clone: Path) -> Self:
        """A repository with an empty first commit."""
        for name, content in _first_files().items():
            path = (bare if name.parts[0] == BARE else clone).joinpath(*name.parts[1:])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.replace(ORIGIN, bytes(bare)))
        return cls(url=url, bare=bare, clone=clone)

    @classmethod
    def copied(cls, *, bare: Path, clone: Path) -> Self:
        """Copies of the two folders of another one."""
        config = clone / ".git/config"
        head, section, rest = config.read_text("utf-8").partition('[remote "origin"]\n')
        assert section, config
        # The first line of the section, which `git remote add` writes.
        _, _, rest = rest.partition("\n")
        config.write_text(f"{head}{section}\turl = {bare}\n{rest}", encoding="utf-8")
        return cls(url="", bare=bare, clone=clone)

    def commit(self, files: Mapping[str, str | None], *, message: str = "Change") -> str:
        """Write files (None removes one) and publish them as one commit on `main`; returns its
        id.
        """
        for name, text in files.items():
            path = self.clone / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return self.publish(message=message)

    def hook(self, name: str, *commands: str, of: str = "") -> Path:
        """Lets git run a shell script in the bare repository, or in the folder of another one."""
        hook = (Path(of) if of else self.bare) / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("\n".join(("#!/bin/sh", *commands, "")), encoding="utf-8")
        hook.chmod(0o755)
        return hook

    def publish(self, *, message: str = "Change") -> str:
        """Commit whatever changed in the clone and push it; returns the id of the head, new or old.

        The push goes to the bare repository as a file path, so that a commit is possible while the
        server is away.
        """
        before = _head(self.clone / ".git")
        git("add", "--all", folder=self.clone)
        try:
            git("commit", "--quiet", "--message", message, folder=self.clone)
        except GitError:
            if git("status", "--porcelain", folder=self.clone):
                raise
        else:
            after = _head(self.clone / ".git")
            if before and after and before == _head(self.bare) and not self._needs_push():
                self._deliver(after)
            else:
                git("push", "--quiet", "origin", "main", folder=self.clone)
        return _head(self.clone / ".git") or git("rev-parse", "HEAD", folder=self.clone).strip()

    def _needs_push(self) -> bool:
        """Whether a push does more than to copy objects: hooks run, or packs are read."""
        own = self.clone / ".git"
        hooks = (self.bare / "hooks").exists() or (own / "hooks").exists()
        return hooks or bool(_packs(own) - _packs(self.bare))

    def pack(self) -> None:
        """Leaves one file of the objects of both repositories, so that there is little to copy."""
        git("repack", "-a", "-d", "-q", folder=self.clone)
        objects = self.bare / "objects"
        shutil.rmtree(objects)
        shutil.copytree(self.clone / ".git/objects", objects)

    def _deliver(self, after: str) -> None:
        """What a push of the newest commit does, which takes eight processes."""
        source, target = self.clone / ".git/objects", self.bare / "objects"
        for path in source.glob("??/*"):
            copy = target / path.relative_to(source)
            if not copy.exists():
                copy.parent.mkdir(exist_ok=True)
                shutil.copy(path, copy)
        for branch in (self.bare / "refs/heads/main", self.clone / ".git/refs/remotes/origin/main"):
            # As git does it: a reader of the served repository sees the old head or the new one.
            lock = branch.with_name("main.lock")
            lock.write_text(f"{after}\n", encoding="ascii")
            lock.replace(branch)

    def branches(self) -> dict[str, str]:
        """Every branch of the served repository with the id of its head.

        Tests that wait ask often, so it reads git's files where it can.
        """
        if (self.bare / "packed-refs").exists():
            listing = git(
                "for-each-ref",
                "--format=%(refname:short) %(objectname)",
                "refs/heads",
                folder=self.bare,
            )
            return dict(line.split(" ", 1) for line in listing.splitlines())
        heads = self.bare / "refs/heads"
        found = dict[str, str]()
        for folder, _, names in os.walk(heads):
            for name in names:
                path = Path(folder, name)
                if not name.endswith(".lock"):
                    # A branch may be deleted meanwhile.
                    with contextlib.suppress(FileNotFoundError):
                        found[path.relative_to(heads).as_posix()] = path.read_text(
                            encoding="ascii"
                        ).strip()
        return dict(sorted(found.items()))

    def read(self, path: str, *, branch: str = "main") -> str:
        """One file as it stands on a branch of the served repository."""
        return git("show", f"{branch}:{path}", folder=self.bare)
