"""The subjects of a test: its Placements, the scorers whose scores matter, and its end."""

from collections.abc import Iterable, Sequence

from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.score_test import (
    MAX_SECONDS,
    OfPlacement,
    ScoreTestSpec,
    seconds,
)
from gitops_dsf.repository.model.series_values import expand
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.placements import typed_placements


def placement_key(named: OfPlacement, fleet: CheckedFleet) -> str:
    """namespace/name of the Placement that a part of a test names.

    A rule reports names that do not exist before a test runs.
    """
    if named.application is not None:
        namespace = fleet.repository.spec.argocd.namespace
        for application in fleet.applications:
            if application.metadata.name == named.application:
                return f"{namespace}/{application.follows}"
    wanted = named.placement or ""
    # With or without its namespace: people write one only where two Placements share a name.
    return next(key for key in applied(fleet).placements if wanted in {key, key.partition("/")[2]})


def placement_keys(spec: ScoreTestSpec, fleet: CheckedFleet) -> Sequence[str]:
    """namespace/name of the Placements that a test names, in the order of the test."""
    naming: Iterable[OfPlacement] = (
        *spec.given.decisions,
        *spec.expect.decisions,
        *spec.expect.moves,
    )
    # Several parts usually name one Placement. A dict keeps the order of the first ones.
    keys: dict[str, None] = {}
    for part in naming:
        keys[placement_key(part, fleet)] = None
    return list(keys)


def scorers_of(spec: ScoreTestSpec, fleet: CheckedFleet) -> Sequence[str]:
    """The scorers whose scores matter, in order of name.

    A test expects a score of them, or a Placement of the test ranks by them.
    """
    names: set[str] = set()
    for expected in spec.expect.scores:
        if expected.scorer is not None:
            names.add(expected.scorer)
    for placement in typed_placements(fleet, placement_keys(spec, fleet)).values():
        for score in ranked_by(placement):
            if score.resource in fleet.scorer_by_resource:
                names.add(fleet.scorer_by_resource[score.resource].name)
    return sorted(names)


def end_of(spec: ScoreTestSpec, fleet: CheckedFleet) -> int:
    """Seconds up to the last expectation.

    Moves without a time count up to the last value of a series.
    """
    end = 0
    for score in spec.expect.scores:
        end = max(end, seconds(score.at))
    for decision in spec.expect.decisions:
        end = max(end, seconds(decision.at))
    for moves in spec.expect.moves:
        end = max(end, _last_run(spec, fleet) if moves.until is None else seconds(moves.until))
    # Each second is a point of the replay. The model bounds times, but not intervals.
    return min(end, MAX_SECONDS)


def _last_run(spec: ScoreTestSpec, fleet: CheckedFleet) -> int:
    """Seconds up to the last value of a series; 0 without series."""
    last = 0
    for series in spec.given.series:
        interval = fleet.scorer_by_name[series.scorer].spec.scoring.params.interval
        last = max(last, (len(expand(series.values)) - 1) * interval)
    return last
