"""Checks paced moves: can the reconciler go on, and do moves wait for long?"""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.names import MOVES_CONFIGMAP
from gitops_dsf.hub.pace import PACE_ANNOTATION
from gitops_dsf.hub.timestamp import age_text
from gitops_dsf.views.doctor.facts import Facts
from gitops_dsf.views.doctor.finding import RIGHTS, Finding, error, ok, unknown, warning
from gitops_dsf.views.status import Part
from gitops_dsf.wording import plural

LONG_SECONDS: Final = 86_400.0
"""A move that has waited for so long is told."""


def paced(facts: Facts) -> Iterator[Finding]:
    """Do paced moves go on?"""
    count = sum(item.metadata.annotation(PACE_ANNOTATION) is not None for item in facts.inputs.placements)
    if not count:
        yield ok("no Placement is paced")
        return
    missing = facts.missing(Part.MOVES)
    if missing is not None and missing.refused:
        yield unknown(str(missing), RIGHTS)
        return
    if missing is not None:
        delete = facts.command("-n", facts.hub_namespace, "delete", "configmap", MOVES_CONFIGMAP)
        yield error(
            f"no move begins, because nobody knows what is under way: {missing}",
            f"{delete}  # then the reconciler starts anew; look who wrote it",
        )
        return
    waiting = facts.inputs.moves.queue.waiting if facts.inputs.moves is not None else ()
    oldest = min(waiting, key=lambda each: each.since, default=None)
    seconds = 0.0 if oldest is None else facts.inputs.now.timestamp() - oldest.since
    if oldest is not None and seconds > LONG_SECONDS:
        yield warning(
            f"{oldest.placement} has waited for {age_text(seconds)} to move from {oldest.source} to"
            f" {oldest.target}: {oldest.reason}: {oldest.message}",
            "gitops-dsf status shows the queue; a faster pace is spec.pace in gitops-dsf.yaml",
        )
    yield ok(f"{plural(count, 'paced Placement')}, {plural(len(waiting), 'move')} waiting")
