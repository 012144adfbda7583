"""One version.

All distributions, pins, images and documents say the same, and one command changes them all.
"""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.support.commandline import output_of
from tools import version

ROOT = Path(__file__).parents[2]
MAJOR = 97
NEXT = f"{MAJOR}.98.99"
AFTER = f"{MAJOR}.98.100rc1"
"""Put together here, so that this file does not hold them itself."""
OTHERS = (
    *("*/go.mod", "*/go.sum", "uv.lock", "CHANGELOG.md", "*/pyproject.toml.tmpl"),
    *("tests/[!g]*", "tools/version.py"),
)
"""Files with versions of other programs, of past releases, of projects that users create, or of
examples in tests.
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked files of this checkout that hold its version, in a repository of their own.

    A bump leaves no old version in the others, and they are most files.
    """
    target = tmp_path_factory.mktemp("copy")
    old = version.current(ROOT).encode()
    for path in tracked(ROOT):
        if (ROOT / path).is_file() and old in (content := (ROOT / path).read_bytes()):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(content)
    output_of("git", "init", "--quiet", target)
    output_of("git", "add", "--all", cwd=target)
    return target


def tracked(root: Path) -> list[str]:
    return output_of("git", "ls-files", "-z", cwd=root).split("\0")[:-1]


def saying(root: Path, wanted: str) -> set[str]:
    pattern = re.compile(rf"(?<![\w.]){re.escape(wanted)}(?!\.?\w)".encode())
    texts = ((path, (root / path).read_bytes()) for path in tracked(root))
    return {path for path, text in texts if wanted.encode() in text and pattern.search(text)}


def test_every_place_says_the_same() -> None:
    places = version.places(ROOT)
    assert len(places) > 20
    assert {place.version for place in places} == {version.current(ROOT)}


def says_other_versions(path: str) -> bool:
    """Whether a file may contain this number with another meaning."""
    return any(fnmatch(path, pattern) for pattern in OTHERS)


def test_no_line_says_the_version_without_being_a_place() -> None:
    """So that `make version` finds every line: a new kind of place needs a pattern, or is one of
    OTHERS.
    """
    now = version.current(ROOT)
    alone = re.compile(rf"(?<![\w.]){re.escape(now)}(?!\.?\w)")
    known = {(place.path, place.line) for place in version.places(ROOT)}
    assert [
        f"{path}:{number}: {line.strip()}"
        for path, text in version.texts(ROOT)
        if now in text and not says_other_versions(path)
        for number, line in enumerate(text.splitlines(), start=1)
        if alone.search(line) and (path, number) not in known
    ] == []


def test_the_distributions_pin_each_other_exactly() -> None:
    """A distribution that runs with another version of its neighbour was tested by nobody."""
    names = version.distributions(ROOT)
    assert len(names) >= 4
    loose = []
    for folder in version.members(ROOT):
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        extras = project.get("optional-dependencies", {}).values()
        for wanted in (*project["dependencies"], *(item for extra in extras for item in extra)):
            name = re.match(r"[\w-]+", wanted)
            assert name is not None
            if name[0] in names and not wanted.endswith(f"=={version.current(ROOT)}"):
                loose.append(f"{project['name']}: {wanted}")
    assert loose == []


def test_every_place_installs_the_same_uv() -> None:
    """Another uv may read the lock file in another way."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["uv"][
        "required-version"
    ].removeprefix("==")
    files = [path for path in tracked(ROOT) if path == "Makefile" or path.endswith("Containerfile")]
    said = {
        path: re.findall(
            r"(?:UV_VERSION ?:?=|uv==) ?(\d+(?:\.\d+)+)", (ROOT / path).read_text("utf-8")
        )
        for path in files
    }
    assert {path: versions for path, versions in said.items() if versions} == {
        path: [wanted] for path, versions in said.items() if versions
    }
    assert len([path for path, versions in said.items() if versions]) >= 2


def test_a_bump_leaves_no_old_version_behind(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second bump has no look-alikes: no other program has that version."""
    before = saying(copy, version.current(ROOT))
    assert version.main([NEXT], root=copy) == 0
    output = capsys.readouterr()
    assert output.err == ""
    changed = set(output.out.splitlines())
    assert "uv.lock" in changed
    assert changed == saying(copy, NEXT)
    assert [path for path in before - changed if not says_other_versions(path)] == []
    assert version.main([AFTER], root=copy) == 0
    assert saying(copy, NEXT) == set()
    assert saying(copy, AFTER) == changed
    assert {place.version for place in version.places(copy)} == {AFTER}
