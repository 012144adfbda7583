"""Flapping by the records of a journal, with the score behind it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from gitops_dsf.journal.record import ClusterReason, Record, ScoreChange, Term, new_record
from gitops_dsf.reconciler.journal.flapping import Flapping, flapping_of, flapping_text

NOW = datetime(2026, 6, 2, tzinfo=UTC).timestamp()


def records(
    decided: Sequence[str],
    *,
    scores: Sequence[Mapping[tuple[str, str], int]] = (),
    weights: Mapping[str, int] | None = None,
    minutes: float = 10,
    end: float = 60,
) -> list[Record]:
    """A move every so many minutes, the last one `end` seconds ago. `scores` are those of each decision, by
    prioritizer and cluster.
    """
    found = []
    known: dict[tuple[str, str], int] = {}
    for number, cluster in enumerate(decided):
        at = NOW - end - (len(decided) - 1 - number) * minutes * 60
        plain = new_record(
            placement="argocd/portal",
            number=number + 1,
            time=datetime.fromtimestamp(at, UTC),
            kind="Start" if number == 0 else "Change",
            before=None if number == 0 else {decided[number - 1]},
            after={cluster},
        )
        now = dict(scores[number]) if scores else {}
        changed = tuple(
            ScoreChange(
                name=name, cluster=where, before=known.get((name, where)), after=now.get((name, where))
            )
            for name, where in sorted({*known, *now})
            if known.get((name, where)) != now.get((name, where))
        )
        known = now
        terms = tuple(Term(name=name, weight=weight) for name, weight in (weights or {}).items())
        reasons = (ClusterReason(cluster=cluster, selected=True, reason="", contributions=terms),)
        found.append(msgspec.structs.replace(plain, scores=changed, clusters=reasons))
    return found


CPU, MEM = "AddOn/cpu/cpu", "AddOn/mem/mem"


def noisy(*cpu: int, mem: int = 50) -> list[dict[tuple[str, str], int]]:
    """Scores of `a` that change, while `b` stays at 50."""
    return [{(CPU, "a"): value, (CPU, "b"): 50, (MEM, "a"): mem, (MEM, "b"): mem} for value in cpu]


def test_two_returns_within_a_day_are_flapping() -> None:
    found = flapping_of(records("ababa", scores=noisy(60, 40, 60, 40, 60), weights={CPU: 1, MEM: 1}), now=NOW)
    assert found == Flapping(placement="argocd/portal", returns=3, clusters=("a", "b"), cause="cpu")
    assert (
        flapping_text(found)
        == "moved back and forth 3 times within a day between a and b, most of all because of cpu;"
        " gitops-dsf backtest --advise tells which stickiness would hold it"
    )


@pytest.mark.parametrize(
    ("decided", "minutes", "end"),
    [
        ("aba", 10, 60),  # one return: an outage that ended
        ("abcde", 10, 60),
        ("ababa", 61, 60),  # each return is later than the window
        ("ababa", 10, 86_400 + 60),
    ],
)
def test_what_is_not_flapping(decided: str, minutes: float, end: float) -> None:
    assert flapping_of(records(decided, minutes=minutes, end=end), now=NOW) is None


def test_scores_that_did_not_change_are_no_cause() -> None:
    """A filter moved it."""
    found = flapping_of(records("ababa", scores=noisy(60, 60, 60, 60, 60), weights={CPU: 1}), now=NOW)
    assert found is not None
    assert (found.cause, "because" in flapping_text(found)) == (None, False)


def test_the_cause_is_the_score_with_the_largest_swing() -> None:
    scores = [
        {(CPU, "a"): 50 + cpu, (CPU, "b"): 50, (MEM, "a"): 50 + mem, (MEM, "b"): 50}
        for cpu, mem in ((9, 1), (9, -20), (9, 1), (9, -20), (9, 1))
    ]
    found = flapping_of(records("ababa", scores=scores, weights={CPU: 1, MEM: 1}), now=NOW)
    assert found is not None
    assert found.cause == "mem"
