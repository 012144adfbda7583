"""Merges the findings of a check that differ only in the cluster.

In a fleet of thousands a cause such as an expired certificate makes the same finding on every
cluster. One finding then names the first clusters and counts the others.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec import structs

from gitops_dsf.views.doctor.finding import WORST_FIRST, DoctorFinding, State

MAX_FINDINGS: Final = 10
"""Findings about clusters that one check has at most. One more counts the others."""
LATER: Final = "fix these first and run doctor again; gitops-dsf status --all shows every score"
_MAX_NAMED: Final = 5
"""The number of clusters that a finding names besides the first."""
_MARK: Final = "\0"
"""Stands for the cluster in a text that is compared."""
_WORD: Final = re.compile(r"\w+(?:[.-]+\w+)*")


def merged(check: str, results: Iterable[DoctorFinding]) -> Iterator[DoctorFinding]:
    """Merges the results of a check, and writes its ID into them.

    An ok counts only if it is alone.
    """
    all_results = list(results)
    # Checks yield their ok without asking whether they have found anything.
    problems = [result for result in all_results if result.state is not State.OK]
    groups_of_clusters = 0
    rest: list[DoctorFinding] = []
    for group in _groups(problems or all_results):
        is_about_clusters = bool(group[0].subjects)
        # Findings about something else than a cluster are few, so each of them is shown.
        groups_of_clusters += is_about_clusters
        if is_about_clusters and groups_of_clusters > MAX_FINDINGS:
            # Clusters whose results differ, such as thousands with different missing scores.
            rest += group
        else:
            yield _one(check, group)
    if rest:
        yield DoctorFinding(
            check=check,
            state=min((result.state for result in rest), key=WORST_FIRST.index),
            message=f"{len(rest)} more such findings",
            fix=LATER,
            count=len(rest),
            subjects=_subjects(rest),
        )


def _groups(results: Sequence[DoctorFinding]) -> Iterable[list[DoctorFinding]]:
    """Results by what they say apart from the cluster, in order of the first of each group."""
    groups: dict[object, list[DoctorFinding]] = {}
    for result in results:
        # A result without a cluster forms a group of its own.
        meaning: object = id(result)
        for name in result.subjects:
            message = _without(name, result.message)
            meaning = result.state, message, _without(name, result.fix or "")
        groups.setdefault(meaning, []).append(result)
    return groups.values()


def _one(check: str, group: Sequence[DoctorFinding]) -> DoctorFinding:
    first = group[0]
    subjects = _subjects(group)
    others = subjects[1:]
    message = first.message
    if others:
        names = list(others[:_MAX_NAMED])
        if len(others) > _MAX_NAMED:
            names.append("...")
        message = f"{first.message}; the same of {len(others)} more: {', '.join(names)}"
    return structs.replace(first, check=check, message=message, count=len(group), subjects=subjects)


def _subjects(results: Iterable[DoctorFinding]) -> tuple[str, ...]:
    """The clusters of these results, each once, in order."""
    return tuple(dict.fromkeys(chain.from_iterable(result.subjects for result in results)))


def _without(name: str, text: str) -> str:
    """The text with a mark where the name stands as a word of its own."""
    # Whole words: a cluster `eu` must not change `eu-1`, or the word `queue`.
    return _WORD.sub(lambda word: _MARK if word[0] == name else word[0], text)
