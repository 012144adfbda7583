"""Compares the sources that git has with those that the reader sees.

A file that is missing on disk must not look like a file that somebody removed: the next render
would remove its clusters from the hub. Git's index tells them apart: `git rm` takes a file out of
it, while a sparse checkout, an unfilled submodule, or a lost file leave it there.
"""

import os
import posixpath
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.forge.address import names_same_repository
from gitops_dsf.repository.git import SHORT, Repository, RevisionError, git_command, top_of
from gitops_dsf.repository.load import Document, value_at
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE, is_source, may_hold_sources
from gitops_dsf.wording import plural

SUBMODULE: Final = "160000"
"""The mode of an entry that is the commit of another repository."""
SYMLINK: Final = "120000"
REGULAR: Final = frozenset({"100644", "100755"})
ATTRIBUTES: Final = ("filter", "working-tree-encoding", "ident")
"""Attributes of git with which a file has another content than git has of it. The others change
line breaks, which YAML reads alike, or what `git archive` writes, which nothing here reads.
"""
_NOT_HERE: Final = "git has this file, and it is not in the folder"
_FILE: Final = "\0"
"""Stands for the name of a file in a hint that many findings share."""
_MOST: Final = 20
"""Findings of one kind that name a file each. One more counts the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the index or of a commit."""

    path: str
    """Below the folder of the fleet."""
    mode: str
    object: str
    skipped: bool = False
    """Whether git leaves the file out of the working tree (`skip-worktree`), as in a sparse
    checkout.
    """


def index_entries(listing: bytes) -> list[Entry]:
    """The entries that `git ls-files -z --stage -t` lists. A path with a conflict has several."""
    found: dict[str, Entry] = {}
    for line in listing.split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        tag, mode, blob, _ = about.decode().split()
        path = _text(name)
        found[path] = Entry(path=path, mode=mode, object=blob, skipped=tag == "S")
    return list(found.values())


def tree_entries(listing: bytes) -> list[Entry]:
    """The entries that `git ls-tree -r -z` lists."""
    found = []
    for line in listing.split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        mode, _, blob = about.decode().split()
        found.append(Entry(path=_text(name), mode=mode, object=blob))
    return found


def _text(name: bytes) -> str:
    return name.decode(errors="surrogateescape")


def listed(repository: Repository) -> list[Entry]:
    """The entries of the index in the source folders of a fleet. Raises RevisionError."""
    done = repository.attempt(
        "ls-files",
        "-z",
        "--stage",
        "-t",
        "--",
        SETTINGS_FILE,
        *FOLDERS,
        index=repository.index_of_hook(),
    )
    if done.returncode != 0:
        raise RevisionError(done.stderr.decode(errors="replace").strip().removeprefix("fatal: "))
    return index_entries(done.stdout)


def compared(root: Path, names: Collection[str], texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Findings about what git has and the reader does not see, or sees with another content.

    `names` are the files that the reader found, and `texts` those that it could decode. Outside of
    a git repository nothing is expected.
    """
    if top_of(root) is None:
        return
    try:
        repository = Repository(directory=root)
        entries = listed(repository)
        folders = [
            item.path for item in entries if item.mode == SUBMODULE and may_hold_sources(item.path)
        ]
        seen = _Names(names)
        absent = [item for item in entries if item.mode != SUBMODULE and is_source(item.path)]
        yield from _bounded(_absent(root, item) for item in absent if item.path not in seen)
        for item in entries:
            if item.path in folders:
                yield from _bounded(_in_submodule(repository, item, seen, ""))
        own = [
            name for name in names if not any(name.startswith(f"{folder}/") for folder in folders)
        ]
        yield from changed_by_git(repository, {name: texts.get(name, "") for name in own})
    except RevisionError as error:
        yield _unasked(error)


def misplaced(root: Path, settings: Document | None) -> Iterator[Diagnostic]:
    """A finding if spec.git.path is not the folder of the fleet in its repository.

    A clone of another repository than spec.git.url names, such as a mirror, says nothing about
    that.
    """
    top = top_of(root)
    git = None if settings is None else value_at(settings.data, ("spec", "git"))
    if settings is None or top is None or not isinstance(git, dict):
        return
    url, path = git.get("url"), git.get("path") or ""
    if not isinstance(url, str) or not isinstance(path, str):
        return
    folder = root.resolve().relative_to(top).as_posix()
    if posixpath.normpath(path.strip("/") or ".") == folder:
        return
    try:
        listed = Repository(directory=root).attempt("config", "--get-regexp", r"^remote\..*\.url$")
    except RevisionError:
        return
    remotes = (_text(line).partition(" ")[2] for line in listed.stdout.splitlines())
    if not any(names_same_repository(url, remote) for remote in remotes):
        return
    is_root = folder == "."
    where = "at the root" if is_root else f"in the folder {folder}"
    at = settings.at(("spec", "git", "path") if "path" in git else ("spec", "git", "url"))
    message = f"spec.git.path is {path or 'empty'}, and this fleet is {where} of the repository"
    hint = "remove path" if is_root else f"write path: {folder}"
    yield codes.ELSEWHERE.at(at, f"{message}: Argo CD looks for rendered/ where it is not", hint)


def lost(root: Path, entries: Iterable[Entry]) -> list[str]:
    """The sources among the entries that a folder lacks, and all submodules that may hold some."""
    return [
        item.path
        for item in entries
        if (item.mode == SUBMODULE and may_hold_sources(item.path))
        or (is_source(item.path) and not os.path.lexists(root / item.path))
    ]


class _Names:
    """Names of files. macOS may give them to programs in another Unicode form than git has them."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._forms = frozenset(
            unicodedata.normalize("NFC", name) for name in names if not name.isascii()
        )

    def __contains__(self, name: str) -> bool:
        return name in self._names or (
            not name.isascii() and unicodedata.normalize("NFC", name) in self._forms
        )


def _absent(root: Path, item: Entry) -> Diagnostic:
    name, git = shlex.quote(item.path), git_command(root)
    if item.skipped:
        hint = (
            f"if it is meant to go, run `{git} rm --sparse {name}`;"
            f" otherwise check it out with `{git} sparse-checkout disable`"
        )
    else:
        hint = (
            f"if it is meant to go, run `{git} rm {name}`; otherwise bring it back with `{git}"
            f" restore {name}`"
        )
    return codes.ABSENT.at(Position(file=item.path), _NOT_HERE, hint)


def submodule(where: Path, commit: str) -> Repository | None:
    """The repository of a submodule in a folder; None if it is not there, or lacks this commit."""
    if not (where / ".git").exists():
        return None
    inner = Repository(directory=where)
    try:
        # With an empty .git, git would take the repository around it.
        return (
            inner
            if inner.top.resolve() == where.resolve() and inner.commit(commit) is not None
            else None
        )
    except RevisionError:
        return None


def unfilled(
    repository: Repository, item: Entry, *, prefix: str = "", commit: str | None = None
) -> Diagnostic:
    """The finding about a submodule whose commit is not here.

    The path of the entry is below the folder of the repository, and `prefix` is the path of that
    folder below the fleet. `commit` is what is read in place of the index. Raises RevisionError.
    """
    name, git = shlex.quote(item.path), git_command(repository.directory)
    position = Position(file=f"{prefix}{item.path}")
    if f"{repository.prefix}{item.path}" not in _submodules(repository, commit):
        message = (
            "git has a commit in place of this folder, and .gitmodules does not say of which"
            " repository"
        )
        hint = (
            f"somebody added a clone inside of this one: run `{git} rm --cached {name}`, remove"
            " the .git in that folder where it is filled, and add its files"
        )
        return codes.ABSENT.at(position, message, hint)
    message = f"git has a submodule here, and its commit {item.object[:SHORT]} is not in the folder"
    folder = repository.directory / item.path
    if commit is not None and (folder / ".git").exists():
        # The submodule is filled with another commit, which stays.
        hint = f"run `{git_command(folder)} fetch origin {item.object}`"
        return codes.ABSENT.at(position, message, hint)
    hint = (
        f"run `{git} submodule update --init {name}`; in pipelines actions/checkout does it with"
        " `submodules: recursive`, and GitLab with `GIT_SUBMODULE_STRATEGY: recursive`"
    )
    return codes.ABSENT.at(position, message, hint)


def _submodules(repository: Repository, commit: str | None) -> set[str]:
    """The paths that .gitmodules has, below the working tree."""
    file = ("--file", str(repository.top / ".gitmodules"))
    where = file if commit is None else ("--blob", f"{commit}:.gitmodules")
    found = repository.attempt("config", *where, "-z", "--get-regexp", r"^submodule\..*\.path$")
    return {_text(line.partition(b"\n")[2]) for line in found.stdout.split(b"\0")[:-1]}


def _in_submodule(
    repository: Repository, item: Entry, seen: "_Names", prefix: str
) -> Iterator[Diagnostic]:
    """What the recorded commit of a submodule has and the reader does not see.

    The path of the entry is below the folder of the repository, whose path below the fleet is
    `prefix`. Raises RevisionError.
    """
    inner = submodule(repository.directory / item.path, item.object)
    if inner is None:
        yield unfilled(repository, item, prefix=prefix)
        return
    below, hint, names = f"{prefix}{item.path}/", "", []
    for entry in tree_entries(inner.run("ls-tree", "-r", "-z", "--full-tree", item.object)):
        path = f"{below}{entry.path}"
        if entry.mode == SUBMODULE:
            if may_hold_sources(path):
                yield from _in_submodule(inner, entry, seen, below)
        elif is_source(path) and path not in seen:
            hint = hint or _hint_of_submodule(repository, inner, item)
            command = hint.replace(_FILE, shlex.quote(entry.path))
            yield codes.ABSENT.at(Position(file=path), _NOT_HERE, command)
        elif is_source(path):
            names.append(entry.path)
    for finding in changed_by_git(inner, dict.fromkeys(names, "")):
        yield replace(finding, position=Position(file=f"{below}{finding.position.file}"))


def _hint_of_submodule(repository: Repository, inner: Repository, item: Entry) -> str:
    name, git, within = (
        shlex.quote(item.path),
        git_command(repository.directory),
        git_command(inner.directory),
    )
    if inner.commit("HEAD") != item.object:
        return (
            f"check out the recorded commit with `{git} submodule update --init {name}`; if the"
            f" one in the folder is meant, run `{git} add {name}`"
        )
    if inner.attempt("config", "--type=bool", "core.sparseCheckout").stdout.strip() == b"true":
        return f"check it out with `{within} sparse-checkout disable`"
    return (
        f"bring it back with `{within} restore {_FILE}`; if it is meant to go, commit that in the"
        f" submodule, and run `{git} add {name}`"
    )


def changed_by_git(
    repository: Repository, texts: Mapping[str, str], *, index: Path | None = None
) -> Iterator[Diagnostic]:
    """Findings about files of which git has another content, by its attributes.

    With `index`, the attributes are those in an index and not those in the working tree. Raises
    RevisionError.
    """
    if not texts:
        return
    cached = () if index is None else ("--cached",)
    stdin = b"".join(name.encode(errors="surrogateescape") + b"\0" for name in texts)
    done = repository.attempt(
        "check-attr", *cached, "-z", "--stdin", *ATTRIBUTES, stdin=stdin, index=index
    )
    if done.returncode != 0:
        raise RevisionError(done.stderr.decode(errors="replace").strip().removeprefix("fatal: "))
    fields = done.stdout.split(b"\0")[:-1]
    yield from _bounded(
        _changed(git_command(repository.directory), _text(path), attribute.decode(), _text(value))
        for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True)
        if _changes(attribute.decode(), _text(value), texts[_text(path)])
    )


def _changes(attribute: str, value: str, text: str) -> bool:
    if value in {"unspecified", "unset"}:
        return False
    if attribute == "ident":
        return value == "set" and "$Id" in text
    if attribute == "working-tree-encoding":
        return value.lower() not in {"set", "utf-8", "utf8"}
    return value != "set"


def _changed(git: str, path: str, attribute: str, value: str) -> Diagnostic:
    name = shlex.quote(path)
    said = attribute if value == "set" else f"{attribute}={value}"
    message = f"git has another content of this file: its attributes say {said}"
    hint = (
        f"take {attribute} away from it in .gitattributes, and run `{git} add --renormalize {name}`"
    )
    return codes.CHANGED_BY_GIT.at(Position(file=path), message, hint)


def _unasked(error: RevisionError) -> Diagnostic:
    said = str(error).strip().splitlines() or ["git failed without a message"]
    message = (
        f"git cannot list its files, so it is not known whether all of them are here: {said[0]}"
    )
    hint = "mend that until `git status` works in this folder"
    command = next((line.strip() for line in said if line.strip().startswith("git config")), "")
    return codes.GIT_UNASKED.at(
        Position(file=SETTINGS_FILE), message, f"run `{command}`" if command else hint
    )


def _bounded(findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The first findings, and one that counts the rest."""
    everything = sorted(findings, key=lambda item: item.position)
    yield from everything[:_MOST]
    rest = everything[_MOST:]
    if rest:
        more = f"; the same holds for {plural(len(rest) - 1, 'more file')}" if len(rest) > 1 else ""
        yield replace(rest[0], message=f"{rest[0].message}{more}")
