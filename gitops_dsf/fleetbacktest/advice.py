"""Advice of a backtest for a fleet repository, with file and line."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from gitops_dsf.backtest.advice import advise
from gitops_dsf.backtest.demand import Arrival, MeasuredDemand, measure
from gitops_dsf.backtest.result import Advice, AdvisedField, DemandAdvice, Trial
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.backtest.track import Tracks
from gitops_dsf.diagnostics import Position
from gitops_dsf.hub.pace import MAX_DEMAND, PacedTerm
from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import by_placement, times
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.rankings import ResolvedPlacement
from gitops_dsf.resolve.stickiness import expressible
from gitops_dsf.views.preview.placements import typed_placements


def advice_on(
    fleet: CheckedFleet,
    backtest: Backtest,
    histories: Mapping[int | None, Tracks],
    *,
    window: float,
    stop: Callable[[], bool],
) -> Iterator[tuple[str, Advice]]:
    """The advised changes of stickiness and deadbands, by namespace/name of the Placement.

    `histories` are the published scores by deadband. `window` is that of returns, in seconds.
    """
    for placement in fleet.placements:
        prepared = backtest.placements.get(placement.key)
        # Each setting is a pass over the whole history. The simulator, which special Placements
        # need, would take minutes for each.
        if prepared is None or prepared.special or prepared.key not in backtest.lines:
            continue
        stickiness = placement.ranking.stickiness
        # The written weights are tried as well: people may write weights that express no other
        # value.
        values = expressible([score.weight for score in placement.scores])
        advice = advise(
            prepared,
            values=values | {stickiness: placement.weights},
            written=stickiness,
            histories=histories,
            grid=backtest.grid,
            window=window,
            stop=stop,
        )
        if advice is not None:
            fields = tuple(_fields(advice.recommended, placement, fleet))
            yield prepared.key, msgspec.structs.replace(advice, fields=fields)


def demands_of(
    fleet: CheckedFleet, backtest: Backtest, paced: Mapping[str, Paced], records: Sequence[Record]
) -> Iterator[tuple[str, tuple[DemandAdvice, ...]]]:
    """The demands to write that differ clearly from those written.

    They are by namespace/name of the Placement. `records` are those of the journal.
    """
    arrivals = _arrivals(records)
    everybody: list[Arrival] = []
    for of_placement in arrivals.values():
        everybody.extend(of_placement)
    for placement in fleet.placements:
        key = placement.key
        if key not in paced or key not in arrivals:
            continue
        advised: list[DemandAdvice] = []
        for index, term in enumerate(paced[key].ranking.terms):
            measured = measure(
                arrivals[key], everybody=everybody, term=term, scores=backtest.scores
            )
            advice = None if measured is None else _demand(placement, index, term, measured)
            if advice is not None:
                advised.append(advice)
        if advised:
            yield key, tuple(advised)


def _arrivals(records: Sequence[Record]) -> Mapping[str, Sequence[Arrival]]:
    """The recorded moves of each Placement. A record without a change of clusters is none."""
    arrivals: dict[str, list[Arrival]] = {}
    for key, of_placement in by_placement(records).items():
        arrivals[key] = []
        for moment, record in zip(times(of_placement), of_placement, strict=True):
            if record.joined or record.left:
                arrival = Arrival(
                    at=moment,
                    joined=record.joined,
                    left=record.left,
                    exact=record.kind == "Change",
                )
                arrivals[key].append(arrival)
    return arrivals


def _demand(
    placement: ResolvedPlacement, index: int, term: PacedTerm, measured: MeasuredDemand
) -> DemandAdvice | None:
    """The demand to write for a score; None if that is hardly another one."""
    demand = min(MAX_DEMAND, round(measured.mean))
    # Within two standard errors, the measured demand says nothing against the written one.
    if demand == term.demand or abs(measured.mean - term.demand) <= 2 * measured.error:
        return None
    position = placement.declared.at("spec", "scores", index, "demand")
    return DemandAdvice(
        scorer=placement.scores[index].name,
        cases=measured.cases,
        mean=measured.mean,
        spread=measured.spread,
        field=_field(position, f"spec.scores[{index}].demand", before=term.demand, after=demand),
    )


def _fields(
    setting: Trial, placement: ResolvedPlacement, fleet: CheckedFleet
) -> Iterator[AdvisedField]:
    """The fields to write for one Placement's advice; empty if they are written already."""
    stickiness = placement.ranking.stickiness
    if setting.stickiness != stickiness:
        position = placement.declared.at("spec", "stickiness")
        yield _field(position, "spec.stickiness", before=stickiness, after=setting.stickiness)
    if setting.deadband is None:
        return
    # Only scorers have a dead band that can be written here.
    names = {score.scorer for score in placement.scores if score.scorer is not None}
    for name in sorted(names):
        scorer = fleet.scorer_by_name[name]
        deadband = scorer.spec.publish.deadband
        if deadband != setting.deadband:
            field = _field(
                scorer.position, "spec.publish.deadband", before=deadband, after=setting.deadband
            )
            also = _ranking_by(scorer.resource_name, fleet, without=placement.key)
            yield msgspec.structs.replace(field, also=also)


def _ranking_by(resource: str, fleet: CheckedFleet, *, without: str) -> tuple[str, ...]:
    """The other Placements that rank by a score, in order."""
    keys: list[str] = []
    for key, placement in typed_placements(fleet).items():
        if key != without and any(score.resource == resource for score in ranked_by(placement)):
            keys.append(key)
    return tuple(keys)


def _field(position: Position, field: str, *, before: int, after: int) -> AdvisedField:
    return AdvisedField(
        file=position.file, line=position.line, field=field, before=before, after=after
    )
