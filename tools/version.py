"""The version of gitops-dsf: one number for all distributions, images and documents.

`python -m tools.version` prints it and checks that every place has the same. `python -m
tools.version NEW` writes it everywhere. The root pyproject.toml defines the version. Other places
repeat it, because packaging tools, images and people read files, not code.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
_VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
"""Three numbers and a pre-release, in a form that both pip and image tags accept."""


class VersionLine(NamedTuple):
    """A line with the version of gitops-dsf."""

    path: str
    line: int
    version: str


def current(root: Path) -> str:
    """The version in the root pyproject.toml."""
    return str(_project(root)["project"]["version"])


def members(root: Path) -> list[Path]:
    """Folders of all distributions: the root and the members of the uv workspace."""
    folders: list[Path] = []
    for pattern in _project(root)["tool"]["uv"]["workspace"]["members"]:
        folders += [file.parent for file in root.glob(f"{pattern}/pyproject.toml")]
    return [root, *sorted(folders)]


def distributions(root: Path) -> list[str]:
    """Names of all distributions."""
    return [str(_project(folder)["project"]["name"]) for folder in members(root)]


def _project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def places(root: Path) -> list[VersionLine]:
    """Returns every line of the tracked files that must have the current version."""
    old = current(root)
    version_places: list[VersionLine] = []
    for path, text in texts(root):
        for pattern in _patterns(root, path, old):
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start("version")) + 1
                version_places.append(VersionLine(path, line, match["version"]))
    return version_places


def bump(root: Path, version: str) -> list[str]:
    """Writes a version to every place and returns the changed paths."""
    old = current(root)
    changed: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        return match[0].removesuffix(match["version"]) + version

    for path, text in texts(root):
        new = text
        for pattern in _patterns(root, path, old):
            new = pattern.sub(replaced, new)
        if new != text:
            (root / path).write_text(new, encoding="utf-8", newline="")
            changed.append(path)
    return changed


def _patterns(root: Path, path: str, old: str) -> Iterator[re.Pattern[str]]:
    """Returns the patterns of places in this file; each ends with its group `version`.

    Image tags match only with the current version, because an example may show the rollout of
    another one.
    """
    number = rf"(?P<version>{_VERSION.pattern})(?!\.?\w)"
    # The lookbehind comes after the name, because a pattern that begins with plain text is found
    # much faster.
    project = r"gitops-dsf(?<![\w-]gitops-dsf)"
    yield re.compile(rf"{project}(-[a-z]+)*(\[[a-z,-]+\])?=={number}")
    yield re.compile(rf"gitops_dsf(_[a-z]+)*-{number}(?=-py3-none-any\.whl)")
    yield re.compile(rf"{project}(-[a-z]+)+:(?P<version>{re.escape(old)})(?!\.?\w)")
    yield re.compile(rf"this {project} is {number}")
    name = path.rpartition("/")[2]
    if name == "__init__.py" or (
        name == "pyproject.toml" and (root / path).parent in members(root)
    ):
        yield re.compile(rf'^(__version__|version) = "{number}', re.MULTILINE)
    # The lock has a version for each package, and only those of the workspace are ours.
    if path == "uv.lock":
        names = "|".join(map(re.escape, distributions(root)))
        yield re.compile(rf'^name = "({names})"\nversion = "{number}', re.MULTILINE)


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """Returns path and text of every tracked text file."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
    )
    for path in filter(None, listed.stdout.split("\0")):
        file = root / path
        # A deletion that is not committed is still listed, and a link's target is listed itself.
        if not file.is_symlink() and file.is_file():
            with suppress(UnicodeDecodeError), file.open(encoding="utf-8", newline="") as stream:
                yield path, stream.read()


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Prints or sets the version of the checkout."""
    parser = argparse.ArgumentParser(prog="tools.version", description=__doc__)
    parser.add_argument("version", nargs="?", help="the new version, such as 0.2.0")
    new = parser.parse_args(arguments).version
    old = current(root)
    if new is None:
        print(old)
        is_same_everywhere = True
        for place in places(root):
            if place.version != old:
                print(f"{place.path}:{place.line}: {place.version}")
                is_same_everywhere = False
        return 0 if is_same_everywhere else 1
    if not _VERSION.fullmatch(new):
        print(f"{new!r} is not a version; write three numbers, as in 1.2.0rc1", file=sys.stderr)
        return 2
    print(*bump(root, new), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
