"""Semantic versions in CEL (apiserver/pkg/cel/library/semverlib.go, blang/semver v4)."""

import re
from dataclasses import dataclass

from gitops_dsf.simulator.cel.function import (
    CelFailure,
    CelFunction,
    Opaque,
    kind,
    method,
    text_of,
)

SEMVER = "kubernetes.Semver"

_NUMBER = r"(0|[1-9][0-9]*)"
_PARTS = r"([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PARTS})?(?:\+{_PARTS})?\Z", re.ASCII)
_MAX_UINT64 = 2**64 - 1


@dataclass(frozen=True, slots=True)
class _Version:
    numbers: tuple[int, int, int]
    pre: tuple[str, ...]

    def __str__(self) -> str:
        """The version without build metadata, which comparison ignores."""
        release = ".".join(map(str, self.numbers))
        if not self.pre:
            return release
        return f"{release}-{'.'.join(self.pre)}"


def _parse(text: str) -> _Version:
    """Reads a version by the rules of the library's first version, which OCM v1.2.1 loads.

    That version does not normalise its input, so `v1.28.3` is not a version.
    """
    matched = _VERSION.match(text)
    if not matched:
        raise CelFailure(f"{text!r} is not a semantic version")
    major, minor, patch, pre, _ = matched.groups()
    parts = tuple(pre.split(".")) if pre else ()
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
        raise CelFailure(f"{text!r}: a numeric pre-release part has leading zeros")
    numbers = (int(major), int(minor), int(patch))
    numeric_parts = [int(part) for part in parts if part.isdigit()]
    if max(*numbers, *numeric_parts) > _MAX_UINT64:
        raise CelFailure(f"{text!r}: a number is too large")
    return _Version(numbers, parts)


def compare(value: Opaque, other: Opaque) -> int:
    """-1, 0 or 1 by the precedence of semver.org, which ignores build metadata."""
    left = _parse(text_of(value, SEMVER))
    right = _parse(text_of(other, SEMVER))
    if left.numbers != right.numbers:
        return (left.numbers > right.numbers) - (left.numbers < right.numbers)
    # A release is newer than its pre-releases.
    if not left.pre or not right.pre:
        return (not left.pre) - (not right.pre)
    left_keys = list(map(_rank, left.pre))
    right_keys = list(map(_rank, right.pre))
    return (left_keys > right_keys) - (left_keys < right_keys)


def _rank(part: str) -> tuple[int, int, str]:
    """Numbers sort below words, and by value."""
    if part.isdigit():
        return (0, int(part), "")
    return (1, 0, part)


def _number(name: str, position: int) -> CelFunction:
    return method(
        name, lambda value: _parse(text_of(value, SEMVER)).numbers[position], (SEMVER, "int")
    )


def functions() -> tuple[CelFunction, ...]:
    """The functions as CEL declares them, without the comparisons that quantities share."""
    return (
        *kind("semver", SEMVER, _parse, test="isSemver"),
        _number("major", 0),
        _number("minor", 1),
        _number("patch", 2),
    )
