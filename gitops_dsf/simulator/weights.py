"""Which prioritizers run, and with which weights (schedule.go: getWeights, mergeWeights, getPrioritizers)."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_dsf.hub.objects import Placement, PrioritizerConfig, ScoreCoordinate
from gitops_dsf.hub.placements import BUILT_INS, BuiltIn

DEFAULTS = tuple(
    PrioritizerConfig(score_coordinate=ScoreCoordinate(type="BuiltIn", built_in=name), weight=1)
    for name in ("Balance", "Steady")
)
"""The defaults of every mode but Exact."""


@dataclass(frozen=True, slots=True)
class Prioritizer:
    """One prioritizer of a Placement: a built-in one, or one score of an AddOnPlacementScore."""

    weight: int
    built_in: BuiltIn | None = None
    resource: str = ""
    score: str = ""

    @property
    def name(self) -> str:
        return self.built_in or f"AddOn/{self.resource}/{self.score}"


class PrioritizerError(Exception):
    """The policy is misconfigured. The message is that of the controller."""


def prioritizers_of(placement: Placement) -> tuple[Prioritizer, ...]:
    """The prioritizers that run: those with a weight other than 0.

    Go visits them in random map order; here it is the order in which they were configured.

    Raises:
        PrioritizerError: an unknown mode or built-in name, a missing coordinate.
    """
    policy = placement.spec.prioritizer_policy
    mode = (policy.mode if policy else None) or ""
    if mode not in ("", "Additive", "Exact"):
        raise PrioritizerError(f"incorrect prioritizer policy mode: {mode}")
    configured = (policy.configurations if policy else None) or ()
    merged = _merge(configured if mode == "Exact" else (*DEFAULTS, *configured))
    return tuple(_prioritizer(coordinate, weight) for coordinate, weight in merged if weight != 0)


def _merge(configurations: tuple[PrioritizerConfig, ...]) -> list[tuple[ScoreCoordinate, int]]:
    """Merges the configurations as Go's map does.

    Its key is a struct with a *pointer* to the add-on coordinate, so entries that have one never share a key:
    duplicates of an add-on score both count, and a BuiltIn entry with an addOn block does not replace its
    default.
    """
    kept: dict[tuple[object, ...], tuple[ScoreCoordinate, int]] = {}
    for position, configuration in enumerate(configurations):
        coordinate = configuration.score_coordinate
        if coordinate is None:
            raise PrioritizerError("scoreCoordinate field is required")
        key: tuple[object, ...] = (coordinate.type, coordinate.built_in)
        if coordinate.add_on is not None:
            key = (*key, position)
        kept[key] = (coordinate, configuration.weight)
    return list(kept.values())


def _prioritizer(coordinate: ScoreCoordinate, weight: int) -> Prioritizer:
    if coordinate.type == "BuiltIn":
        name = next((name for name in BUILT_INS if name == coordinate.built_in), None)
        if name is None:
            raise PrioritizerError(f"incorrect builtin prioritizer: {coordinate.built_in}")
        return Prioritizer(weight, built_in=name)
    if coordinate.add_on is None:
        raise PrioritizerError("addOn should not be empty")
    return Prioritizer(weight, resource=coordinate.add_on.resource_name, score=coordinate.add_on.score_name)
