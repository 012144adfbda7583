"""Selects the tests that a change most likely affects: `python -m tools.changed` runs them, and `make check`
runs the linters first.

The changes are what git reports since the branch left main, including uncommitted files. A changed test runs.
For a changed module, the tests run that import it, directly or through one module of tests/support, and those
that have its name (`cli/render.py`: `test_render*.py`, and for a verb `tests/*/render/`). For a changed
document or data file, the tests run that name it, with its folder if other files have this name. This is a
quick heuristic; `make test` runs everything.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_IMPORT: Final = re.compile(
    r"^[ ]*(?:from|import) (?P<module>[\w.]+)(?: import (?:\((?P<more>[^)]*)\)|(?P<names>[^\n(]*)))?",
    re.MULTILINE,
)
SOURCES: Final = {"packages/wire/": "", "packages/scorer/": "", "packages/runtime/": "", "agent/": ""}
"""Folders that are not part of the import name of their packages."""
MOST: Final = 40
"""With more test files than this the check is not quick, and `make test` is better."""
FEW: Final = 5
"""So many test files take less time than two processes need to start."""
VERBS: Final = PurePosixPath("gitops_dsf/cli")


def changed(root: Path, *, base: str = "main") -> frozenset[str]:
    """Returns the paths that changed since this branch left the base, without deleted ones."""
    fork = _git(root, "merge-base", "HEAD", base) or ["HEAD"]
    differing = _git(root, "diff", "--name-only", "--diff-filter=d", fork[0])
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    return frozenset((*differing, *new))


def concerned(paths: Iterable[str], tests: Mapping[str, str], *, files: Iterable[str] = ()) -> list[str]:
    """Returns the test files among `tests` (path to text) that the changed paths affect, sorted. `files` are
    all paths of the repository. Pure.
    """
    paths = set(paths)
    modules = {name for path in paths if path.endswith(".py") for name in _modules(path)}
    imports = {path: frozenset(_imported(text)) for path, text in tests.items()}
    # What support code imports, its users import.
    touched = {
        name
        for path, found in imports.items()
        if not _is_test(path) and found & modules
        for name in _modules(path)
    }
    modules |= touched
    stems = {PurePosixPath(path).stem for path in paths if path.endswith(".py")} - {
        "__init__",
        "__main__",
        "conftest",
    }
    verbs = {PurePosixPath(path).stem for path in paths if PurePosixPath(path).parent == VERBS}
    often = Counter(PurePosixPath(path).name for path in files)
    names = [_mention(path, often) for path in sorted(paths) if not path.endswith(".py")]
    return sorted(
        path
        for path, text in tests.items()
        if _is_test(path)
        and (
            path in paths
            or imports[path] & modules
            or _named(path, stems)
            or PurePosixPath(path).parent.name in verbs
            or any(name.search(text) for name in names)
        )
    )


def _named(path: str, stems: Collection[str]) -> bool:
    """Whether the test has the name of one of these modules."""
    test = PurePosixPath(path).stem
    return any(test == f"test_{stem}" or test.startswith(f"test_{stem}_") for stem in stems)


def _mention(path: str, often: Mapping[str, int]) -> re.Pattern[str]:
    """How a test names a file: `docs/agent.md`, or `"docs" / "agent.md"`."""
    file = PurePosixPath(path)
    if often.get(file.name, 0) <= 1:
        return re.compile(re.escape(file.name))
    return re.compile(rf"\b{re.escape(file.parent.name or 'ROOT')}[\"' ]*/[\"' ]*{re.escape(file.name)}")


def _is_test(path: str) -> bool:
    return PurePosixPath(path).name.startswith("test_")


def _modules(path: str) -> Iterator[str]:
    """The name of the module; for an `__init__` that of its package."""
    for folder in SOURCES:
        path = path.removeprefix(folder)
    name = path.removesuffix(".py").replace("/", ".")
    yield name.removesuffix(".__init__")


def _imported(text: str) -> Iterator[str]:
    for match in _IMPORT.finditer(text):
        module, names = match["module"], match["names"] or match["more"] or ""
        yield module
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def main() -> int:
    """Returns the exit code of pytest; 0 if no test is affected."""
    tests = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if "hub" not in path.relative_to(ROOT / "tests").parts[:1]
    }
    found = concerned(changed(ROOT), tests, files=_git(ROOT, "ls-files"))
    if not found:
        print("no test names or imports what changed; `make test` runs all of them")
        return 0
    if len(found) > MOST:
        print(
            f"{len(found)} files of tests are concerned, the first {MOST} run; `make test` runs all of them"
        )
    print("\n".join(found[:MOST]))
    processes = ["-n", "2", "--dist", "loadgroup"] if len(found) > FEW else []
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not soak",
        *processes,
        *sys.argv[1:],
        *found[:MOST],
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
