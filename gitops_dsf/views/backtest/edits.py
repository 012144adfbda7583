"""The advice of a backtest as edits of authored YAML."""

from collections.abc import Iterator
from dataclasses import dataclass

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.repository.yamledit import YamlFile
from gitops_dsf.views.backtest.build import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """A number in the spec of an object."""

    file: str
    """Relative to the repository."""
    kinds: tuple[str, ...]
    """The object has one of these kinds."""
    name: str
    path: tuple[str, ...]
    """The field, from spec on."""
    before: int
    after: int

    @property
    def text(self) -> str:
        """`stickiness 5 -> 20`."""
        return f"{'.'.join(self.path[1:])} {self.before} -> {self.after}"

    def apply(self, file: YamlFile) -> bool:
        """Edits a file in place. Returns False if it does not have the object."""
        found = (file.find(kind, self.name) for kind in self.kinds)
        holder = next((document for document in found if document is not None), None)
        for part in self.path[:-1]:
            if not isinstance(holder, CommentedMap):
                return False
            holder = holder.setdefault(part, CommentedMap())
        if not isinstance(holder, CommentedMap):
            return False
        holder[self.path[-1]] = self.after
        return True


def edits(result: Result) -> Iterator[Edit]:
    """The edits that make the repository follow the advice, each field once."""
    deadbands: dict[str, int] = {}
    for item in result.fleet.resolved.placements:
        advice = result.advice.get(f"{item.namespace}/{item.name}")
        if advice is None or not advice.changes:
            continue
        setting = advice.recommended.setting
        if setting.stickiness != item.ranking.stickiness:
            yield Edit(
                file=item.position.file,
                kinds=("ScoredApplication", "ScoredPlacement"),
                name=item.name,
                path=("spec", "stickiness"),
                before=item.ranking.stickiness,
                after=setting.stickiness,
            )
        if setting.deadband is not None:
            # Of several Placements that rank by a scorer, the one that asks for more calm decides.
            for score in item.scores:
                deadbands[score.scorer] = max(setting.deadband, deadbands.get(score.scorer, 0))
    for name, deadband in sorted(deadbands.items()):
        scorer = result.fleet.scorers[name]
        if scorer.publish.deadband != deadband:
            yield Edit(
                file=scorer.position.file,
                kinds=("DynamicScorer",),
                name=name,
                path=("spec", "publish", "deadband"),
                before=scorer.publish.deadband,
                after=deadband,
            )
