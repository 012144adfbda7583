"""Where to write the advice of a backtest: file, line, field and value."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.views.backtest.build import Result
from gitops_dsf.views.preview.hub import typed_placements


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A field of an object of the repository, and its advised value."""

    file: str
    """Relative to the repository."""
    line: int
    """Of the field, or of the object if the field is not written."""
    field: str
    """`spec.stickiness`."""
    before: int
    after: int
    also: tuple[str, ...] = ()
    """Other Placements that it concerns: namespace/name, in order."""


def fields(result: Result, key: str) -> Iterator[Field]:
    """What to write to follow the advice for one Placement; nothing if that is what is written."""
    advice = result.advice[key]
    item = next(each for each in result.fleet.resolved.placements if f"{each.namespace}/{each.name}" == key)
    setting = advice.recommended.setting
    if setting.stickiness != item.ranking.stickiness:
        position = item.written.at("spec", "stickiness")
        yield Field(
            file=position.file,
            line=position.line,
            field="spec.stickiness",
            before=item.ranking.stickiness,
            after=setting.stickiness,
        )
    if setting.deadband is None:
        return
    for name in sorted({score.scorer for score in item.scores}):
        scorer = result.fleet.scorers[name]
        if scorer.publish.deadband != setting.deadband:
            yield Field(
                file=scorer.position.file,
                line=scorer.position.line,
                field="spec.publish.deadband",
                before=scorer.publish.deadband,
                after=setting.deadband,
                also=tuple(
                    other
                    for other, placement in typed_placements(result.fleet).items()
                    if other != key
                    and any(each.resource == scorer.resource_name for each in ranked_by(placement))
                ),
            )
