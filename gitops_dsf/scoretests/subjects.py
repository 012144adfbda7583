"""TODO."""

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
    """namespace/name of the Placement that an item of a test names. A rule reports what does not exist."""
    if named.application is not None:
        argocd = fleet.repository.spec.argocd.namespace
        applications = fleet.applications
        application = next(item for item in applications if item.metadata.name == named.application)
        return f"{argocd}/{application.follows}"
    wanted = named.placement or ""
    return next(key for key in applied(fleet).placements if wanted in {key, key.partition("/")[2]})


def placement_keys(spec: ScoreTestSpec, fleet: CheckedFleet) -> Sequence[str]:
    """namespace/name of the Placements that a test names, in the order of the test."""
    given, expect = spec.given, spec.expect
    named: Iterable[OfPlacement] = (*given.decisions, *expect.decisions, *expect.moves)
    return list(dict.fromkeys(placement_key(each, fleet) for each in named))


def scorers_of(spec: ScoreTestSpec, fleet: CheckedFleet) -> Sequence[str]:
    """Scorers of which a score is expected, or that a Placement of the test ranks by, in order of name."""
    found = {each.scorer for each in spec.expect.scores if each.scorer is not None}
    for placement in typed_placements(fleet, placement_keys(spec, fleet)).values():
        resources = {each.resource for each in ranked_by(placement)}
        found |= {
            fleet.scorer_by_resource[name].name
            for name in resources & fleet.scorer_by_resource.keys()
        }
    return sorted(found)


def end_of(spec: ScoreTestSpec, fleet: CheckedFleet) -> int:
    """Seconds up to the last expectation; moves without a time count up to the last value of a series."""
    expect = spec.expect
    times = [*(each.at for each in expect.scores), *(each.at for each in expect.decisions)]
    times += [each.until for each in expect.moves if each.until is not None]
    end = max(map(seconds, times), default=0)
    if any(each.until is None for each in expect.moves):
        runs = (
            (len(expand(each.values)) - 1)
            * fleet.scorer_by_name[each.scorer].spec.scoring.params.interval
            for each in spec.given.series
        )
        end = max([end, *runs])
    return min(end, MAX_SECONDS)
