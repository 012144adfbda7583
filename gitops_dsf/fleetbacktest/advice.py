"""What a backtest advises to write, with file and line."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from gitops_dsf.backtest.advice import advise
from gitops_dsf.backtest.demand import Arrival, measure
from gitops_dsf.backtest.result import Advice, AdvisedField, DemandAdvice, Trial
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.backtest.track import Tracks
from gitops_dsf.diagnostics import Position
from gitops_dsf.hub.pace import MAX_DEMAND
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
    found: Backtest,
    histories: Mapping[int | None, Tracks],
    *,
    window: float,
    stop: Callable[[], bool],
) -> Iterator[tuple[str, Advice]]:
    """What to change about stickiness and deadbands, by Placement. `histories` are those by deadband."""
    for item in fleet.placements:
        contest = found.contests.get(f"{item.namespace}/{item.name}")
        if contest is None or contest.special or contest.key not in found.lines:
            continue
        written = item.weights
        advice = advise(
            contest,
            values=expressible([score.weight for score in item.scores])
            | {item.ranking.stickiness: written},
            written=item.ranking.stickiness,
            histories=histories,
            grid=found.grid,
            window=window,
            stop=stop,
        )
        if advice is not None:
            fields = tuple(_fields(advice.recommended, item, fleet))
            yield contest.key, msgspec.structs.replace(advice, fields=fields)


def demands_of(
    fleet: CheckedFleet, found: Backtest, paced: Mapping[str, Paced], records: Sequence[Record]
) -> Iterator[tuple[str, tuple[DemandAdvice, ...]]]:
    """The demands to write, by Placement, that differ clearly from those written. `records`: the journal."""
    moves = {
        key: [
            Arrival(at=at, joined=each.joined, left=each.left, exact=each.kind == "Change")
            for at, each in zip(times(known), known, strict=True)
            if each.joined or each.left
        ]
        for key, known in by_placement(records).items()
    }
    everybody = [each for known in moves.values() for each in known]
    for item in fleet.placements:
        key = f"{item.namespace}/{item.name}"
        if key not in paced or key not in moves:
            continue
        advised = []
        for index, term in enumerate(paced[key].ranking.terms):
            measured = measure(moves[key], everybody=everybody, term=term, columns=found.columns)
            if measured is None:
                continue
            value = min(MAX_DEMAND, round(measured.mean))
            if value != term.demand and abs(measured.mean - term.demand) > 2 * measured.error:
                position = item.written.at("spec", "scores", index, "demand")
                advised.append(
                    DemandAdvice(
                        scorer=item.scores[index].scorer,
                        cases=measured.cases,
                        mean=measured.mean,
                        spread=measured.spread,
                        field=_field(position, f"spec.scores[{index}].demand", term.demand, value),
                    )
                )
        if advised:
            yield key, tuple(advised)


def _fields(setting: Trial, item: ResolvedPlacement, fleet: CheckedFleet) -> Iterator[AdvisedField]:
    """What to write to follow the advice for one Placement; nothing if that is what is written."""
    key = f"{item.namespace}/{item.name}"
    if setting.stickiness != item.ranking.stickiness:
        position = item.written.at("spec", "stickiness")
        yield _field(position, "spec.stickiness", item.ranking.stickiness, setting.stickiness)
    if setting.deadband is None:
        return
    for name in sorted({score.scorer for score in item.scores}):
        scorer = fleet.scorer_by_name[name]
        written = scorer.spec.publish.deadband
        if written != setting.deadband:
            also = tuple(
                other
                for other, placement in typed_placements(fleet).items()
                if other != key
                and any(each.resource == scorer.resource_name for each in ranked_by(placement))
            )
            yield _field(scorer.position, "spec.publish.deadband", written, setting.deadband, also)


def _field(
    position: Position, field: str, before: int, after: int, also: tuple[str, ...] = ()
) -> AdvisedField:
    return AdvisedField(
        file=position.file, line=position.line, field=field, before=before, after=after, also=also
    )
