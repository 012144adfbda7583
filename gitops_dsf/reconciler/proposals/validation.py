"""Whether a change makes a checkout invalid, by the checks of `gitops-dsf validate` before and after."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.pipeline import check


class Validation:
    """Writes changes to a checkout, checks it, and restores it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _before(self) -> Counter[tuple[str, str, str]]:
        """Read for the first change. Many passes find none, and a check of a large fleet takes seconds."""
        return Counter(_key(item) for item in self._errors())

    def new_errors(self, files: Mapping[str, str | None]) -> list[str]:
        """Errors that these files add to those that the repository has already."""
        if not files:
            return []
        left = self._before.copy()
        kept = {file: _content(self._root / file) for file in files}
        try:
            for file, text in files.items():
                _put(self._root / file, None if text is None else text.encode())
            found = []
            for item in self._errors():
                left[_key(item)] -= 1
                if left[_key(item)] < 0:
                    found.append(f"{item.code} {item.position}: {item.message}")
            return found
        finally:
            for file, content in kept.items():
                _put(self._root / file, content)

    def _errors(self) -> list[Diagnostic]:
        return [item for item in check(self._root).diagnostics if item.severity is Severity.ERROR]


def _key(item: Diagnostic) -> tuple[str, str, str]:
    return item.code, item.position.file, item.message


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
