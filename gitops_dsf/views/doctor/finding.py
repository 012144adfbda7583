"""The findings of checks."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec import Struct

MOST: Final = 10
"""Most findings of one check. A last one counts the others."""
LATER: Final = "fix these first and run doctor again; gitops-dsf status --all shows every score"
_SUBJECT: Final = "\0"
_WORD: Final = re.compile(r"\w+(?:[.-]+\w+)*")
_NAMED: Final = 5
"""How many clusters a finding names besides the first."""


class State(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    """Everything works, but something should be changed."""
    ERROR = "error"
    """Scores, decisions or applications do not work, or will be lost."""
    UNKNOWN = "unknown"
    """It could not be checked: a permission is missing, or the hub does not show it."""


WORST_FIRST: Final = (State.ERROR, State.WARNING, State.UNKNOWN, State.OK)


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One result of a check. It becomes a Finding with the ID of the check."""

    state: State
    message: str
    fix: str = ""
    """A command that fixes it, or what to edit in git; empty if there is nothing to do."""
    subject: str = ""
    """The cluster that it is about. Equal results about several clusters are reported once, with their
    number.
    """


def ok(message: str) -> Result:
    """Nothing is wrong."""
    return Result(state=State.OK, message=message)


def warning(message: str, fix: str, *, subject: str = "") -> Result:
    """Something should be changed."""
    return Result(state=State.WARNING, message=message, fix=fix, subject=subject)


def error(message: str, fix: str, *, subject: str = "") -> Result:
    """Something does not work."""
    return Result(state=State.ERROR, message=message, fix=fix, subject=subject)


def unknown(message: str, fix: str = "") -> Result:
    """It cannot be checked from here."""
    return Result(state=State.UNKNOWN, message=message, fix=fix)


class Finding(Struct, frozen=True, kw_only=True):
    """One line of the report."""

    check: str
    """Stable ID of the check."""
    state: State
    message: str
    fix: str | None
    count: int = 1
    """How many equal results there are."""
    subjects: tuple[str, ...] = ()
    """The clusters that it is about, if they were checked one by one."""


def findings_of(check: str, results: Iterable[Result]) -> Iterator[Finding]:
    """Merges results of a check that differ only in the cluster. The merged finding takes the place of the
    first. That all is well counts only if there is no other result.
    """
    groups: dict[object, list[Result]] = {}
    found = list(results)
    for result in [one for one in found if one.state is not State.OK] or found:
        groups.setdefault(_meaning(result), []).append(result)
    told, rest = 0, list[Result]()
    for group in groups.values():
        first, subjects = group[0], _subjects(group)
        told += bool(subjects)
        if subjects and told > MOST:
            # Clusters whose results differ, such as thousands with different missing scores.
            rest += group
            continue
        message = _told(first, subjects)
        yield Finding(
            check=check,
            state=first.state,
            message=message,
            fix=first.fix or None,
            count=len(group),
            subjects=subjects,
        )
    if rest:
        state = min((result.state for result in rest), key=WORST_FIRST.index)
        message, subjects = f"{len(rest)} more such findings", _subjects(rest)
        yield Finding(
            check=check, state=state, message=message, fix=LATER, count=len(rest), subjects=subjects
        )


def _subjects(results: Iterable[Result]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(result.subject for result in results if result.subject))


def _meaning(result: Result) -> object:
    if not result.subject:
        return id(result)
    return result.state, _without(result.subject, result.message), _without(result.subject, result.fix)


def _without(name: str, text: str) -> str:
    """The text with a mark in the place of a name that stands alone."""
    return _WORD.sub(lambda word: _SUBJECT if word[0] == name else word[0], text)


def _told(first: Result, subjects: tuple[str, ...]) -> str:
    others = subjects[1:]
    if not others:
        return first.message
    names = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
    return f"{first.message}; the same of {len(others)} more: {names}"
