"""The findings of checks."""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct, structs

MOST: Final = 10
"""Most findings of one check. A last one counts the others."""
RIGHTS: Final = "ask an administrator of the hub for the rights of the ClusterRole gitops-dsf-doctor"
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


class Finding(Struct, frozen=True, kw_only=True):
    """One line of the report."""

    check: str
    state: State
    message: str
    fix: str | None
    """A command that fixes it, or what to edit in git; None if there is nothing to do."""
    count: int = 1
    subjects: tuple[str, ...] = ()
    """The clusters that it is about, if they were checked one by one."""


class DoctorHub(Struct, rename="camel"):
    origin: str
    now: str
    clock_offset_seconds: float | None


class DoctorOutput(Struct):
    """The output of `doctor`."""

    hub: DoctorHub
    findings: tuple[Finding, ...]
    summary: dict[str, int]


def _result(state: State, message: str, fix: str = "", subject: str = "") -> Finding:
    """One result of a check, which does not know its ID. `subject` is the cluster that it is about."""
    subjects = (subject,) if subject else ()
    return Finding(check="", state=state, message=message, fix=fix or None, subjects=subjects)


def ok(message: str) -> Finding:
    """Nothing is wrong."""
    return _result(State.OK, message)


def warning(message: str, fix: str, *, subject: str = "") -> Finding:
    """Something should be changed."""
    return _result(State.WARNING, message, fix, subject)


def error(message: str, fix: str, *, subject: str = "") -> Finding:
    """Something does not work."""
    return _result(State.ERROR, message, fix, subject)


def unknown(message: str, fix: str = "") -> Finding:
    """It cannot be checked from here."""
    return _result(State.UNKNOWN, message, fix)


def findings_of(check: str, results: Iterable[Finding]) -> Iterator[Finding]:
    """Merges results that differ only in the cluster. An ok counts only if it is alone."""
    groups: dict[object, list[Finding]] = {}
    found = list(results)
    for result in [one for one in found if one.state is not State.OK] or found:
        meaning: object = id(result)
        for name in result.subjects:
            meaning = result.state, _without(name, result.message), _without(name, result.fix or "")
        groups.setdefault(meaning, []).append(result)
    told, rest = 0, list[Finding]()
    for group in groups.values():
        first, subjects = group[0], _subjects(group)
        told += bool(subjects)
        if subjects and told > MOST:
            # Clusters whose results differ, such as thousands with different missing scores.
            rest += group
            continue
        message, others = first.message, subjects[1:]
        if others:
            names = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
            message += f"; the same of {len(others)} more: {names}"
        yield structs.replace(first, check=check, message=message, count=len(group), subjects=subjects)
    if rest:
        state = min((result.state for result in rest), key=WORST_FIRST.index)
        message, subjects = f"{len(rest)} more such findings", _subjects(rest)
        yield Finding(
            check=check, state=state, message=message, fix=LATER, count=len(rest), subjects=subjects
        )


def _subjects(results: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for result in results for name in result.subjects))


def _without(name: str, text: str) -> str:
    """The text with a mark in the place of a name that stands alone."""
    return _WORD.sub(lambda word: _SUBJECT if word[0] == name else word[0], text)
