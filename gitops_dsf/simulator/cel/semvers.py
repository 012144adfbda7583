"""Semver functions (apiserver/pkg/cel/library/semverlib.go, blang/semver v4).

OCM loads the library's first version, which has no second argument for normalisation: `v1.28.3` is not a
version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitops_dsf.simulator.cel.function import CelFailure, Function, Opaque, function, method, parses, text_of

TYPE = "kubernetes.Semver"
_NUMBER = r"(0|[1-9][0-9]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z",
    re.ASCII,
)
_MAX_UINT64 = 2**64 - 1


@dataclass(frozen=True, slots=True)
class _Version:
    numbers: tuple[int, int, int]
    pre: tuple[str, ...]

    def __str__(self) -> str:
        """The version without build metadata, which comparison ignores."""
        return ".".join(map(str, self.numbers)) + (f"-{'.'.join(self.pre)}" if self.pre else "")


def _parse(text: str) -> _Version:
    matched = _VERSION.match(text)
    if not matched:
        raise CelFailure(f"{text!r} is no semantic version")
    major, minor, patch, pre, _ = matched.groups()
    parts = tuple(pre.split(".")) if pre else ()
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
        raise CelFailure(f"{text!r}: a numeric pre-release part has leading zeros")
    numbers = (int(major), int(minor), int(patch))
    if any(number > _MAX_UINT64 for number in (*numbers, *(int(part) for part in parts if part.isdigit()))):
        raise CelFailure(f"{text!r}: a number is too large")
    return _Version(numbers, parts)


def _from_text(text: str) -> Opaque:
    return {TYPE: str(_parse(text))}


def compare(value: Opaque, other: Opaque) -> int:
    left, right = _parse(text_of(value, TYPE)), _parse(text_of(other, TYPE))
    if left.numbers != right.numbers:
        return 1 if left.numbers > right.numbers else -1
    if not left.pre or not right.pre:  # a release is newer than its pre-releases
        return (not left.pre) - (not right.pre)
    left_keys, right_keys = ([_rank(part) for part in version.pre] for version in (left, right))
    return (left_keys > right_keys) - (left_keys < right_keys)


def _rank(part: str) -> tuple[int, int, str]:
    """Numbers sort below words, and by value."""
    return (0, int(part), "") if part.isdigit() else (1, 0, part)


def _number(name: str, position: int) -> Function:
    return method(name, lambda value: _parse(text_of(value, TYPE)).numbers[position], (TYPE, "int"))


def functions() -> tuple[Function, ...]:
    return (
        function("semver", _from_text, ("string", TYPE)),
        parses("isSemver", _parse),
        *(_number(name, position) for position, name in enumerate(("major", "minor", "patch"))),
    )
