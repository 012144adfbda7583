"""Declares the scores of other add-ons by which adopted Placements rank.

A declaration is the name alone: an AddOnPlacementScore shows neither which values may come nor how
often they are measured. It is written only for a score that the hub has. A score that no cluster
has may be a misspelt one, and a declared one is never found to be misspelt.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.scorers import ScoreKey
from gitops_dsf.importer.adoption.placement import ranked_scores
from gitops_dsf.importer.manifest import is_rendered
from gitops_dsf.importer.settings import SettingsFile
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.load.paths import SETTINGS_FILE
from gitops_dsf.repository.model.external_scores import ExternalScore
from gitops_dsf.resolve.external_scores import ExternalScores

SCORE_KIND: Final = "AddOnPlacementScore"


class OtherScores:
    """The scores of other add-ons that a hub has, beside what a repository says of scores."""

    def __init__(self, fleet: CheckedFleet, objects: Iterable[Mapping[str, Any]]) -> None:
        """`objects` are those of the hub. Other kinds than AddOnPlacementScore are ignored."""
        ours = (*fleet.scorers, *fleet.open_scorers)
        self._of_scorers = {MOVES_SCORE, *(scorer.resource_name for scorer in ours)}
        self._declared = ExternalScores(fleet.repository.spec.external_scores)
        self._clusters: Counter[ScoreKey] = Counter()
        for data in objects:
            if data.get("kind") == SCORE_KIND and not _is_of_an_agent(data):
                self._clusters.update(_items(data))

    def undeclared(self, placements: Iterable[Mapping[str, Any]]) -> Sequence[ScoreKey]:
        """The scores that rank these Placements, and that nothing in git names; in order.

        A scorer names its own score, and the settings name those of other add-ons.
        """
        undeclared: set[ScoreKey] = set()
        for data in placements:
            for resource, name in ranked_scores(value_at(data, ("spec",)) or {}):
                is_declared = self._declared.of(resource, name) is not None
                if resource not in self._of_scorers and not is_declared:
                    undeclared.add((resource, name))
        return sorted(undeclared)

    def clusters(self, score: ScoreKey) -> int:
        """The number of clusters on which another add-on publishes a score."""
        return self._clusters[score]


def resources_to_read(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """The AddOnPlacementScores, by name, that rank Placements of others; in order.

    Only these are worth reading: a fleet may have hundreds of thousands of our own.
    """
    resources: set[str] = set()
    for data in objects:
        # Rendered Placements come from git, whose rules have asked for the declarations.
        if data.get("kind") == "Placement" and not is_rendered(data):
            for resource, _ in ranked_scores(value_at(data, ("spec",)) or {}):
                resources.add(resource)
    return sorted(resources)


def with_declared(text: str, settings_name: str, scores: Iterable[ScoreKey]) -> str:
    """The text of the settings with these scores declared.

    Entries that people wrote stay: their range says nothing about another item of the same object.
    Raises RepositoryError if the settings cannot be edited.
    """
    names: dict[str, list[str]] = {}
    for resource, name in scores:
        names.setdefault(resource, []).append(name)
    file = SettingsFile(text, name=settings_name)
    entries = [{"resource": resource, "names": items} for resource, items in names.items()]
    if not file.extend("externalScores", entries):
        raise RepositoryError(
            f"{SETTINGS_FILE}: FleetRepository {settings_name} cannot be edited; write it without"
            " aliases and merge keys"
        )
    return file.text


def _items(data: Mapping[str, Any]) -> Iterator[ScoreKey]:
    """The items of an AddOnPlacementScore that the settings can name."""
    resource = value_at(data, ("metadata", "name"))
    scores = value_at(data, ("status", "scores"))
    for score in scores if isinstance(scores, list) else ():
        name = value_at(score, ("name",))
        # OCM's CRD lets an item have any name, and the settings do not (ExternalScore).
        try:
            ExternalScore.model_validate({"resource": resource, "names": [name]})
        except ValidationError:
            continue
        yield str(resource), str(name)


def _is_of_an_agent(data: Mapping[str, Any]) -> bool:
    """Whether an agent of ours wrote a score. Then git lacks a scorer, not a declaration."""
    manager: object = value_at(data, ("metadata", "labels", MANAGED_BY_LABEL))
    return manager == AGENT_MANAGER
