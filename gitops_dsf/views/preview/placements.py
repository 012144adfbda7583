"""The Placements of a fleet with the types of the hub model, as an API server would store them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub import objects as hub
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.placements import resources_read
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import SimulatorInputError, with_defaults
from gitops_dsf.views.preview.applied import applied

HubType = TypeVar("HubType")


class PreviewError(GitopsDsfError):
    """The repository and the hub data contain objects that no hub would accept."""


def typed_placements(
    fleet: CheckedFleet, only: Collection[str] | None = None
) -> Mapping[str, hub.Placement]:
    """All Placements, or only these, by `namespace/name`. Raises PreviewError."""
    manifests = applied(fleet).placements
    keys = [key for key in manifests if only is None or key in only]
    # An API server fills in defaults before OCM reads the object, so the simulator expects them.
    with refusing():
        filled = with_defaults(manifests[key] for key in keys)
    placements: dict[str, hub.Placement] = {}
    for key, manifest in zip(keys, filled, strict=True):
        placements[key] = converted(manifest, hub.Placement, key)
    return placements


def resources_ranked(
    fleets: Iterable[CheckedFleet], only: Collection[str] | None = None
) -> frozenset[str] | None:
    """Names of the AddOnPlacementScores that Placements read. Raises PreviewError.

    None means any, because an expression of a Placement computes the name.
    """
    names: set[str] = set()
    for fleet in fleets:
        for placement in typed_placements(fleet, only).values():
            read_by_it = resources_read(placement)
            if read_by_it is None:
                return None
            names |= read_by_it
    return frozenset(names)


def converted(data: Any, model: type[HubType], name: str) -> HubType:  # noqa: ANN401 - plain data of a document
    """An object of the repository, called `name`, as a type of the hub. Raises PreviewError."""
    with refusing(name):
        return msgspec.convert(data, model)


@contextmanager
def refusing(name: str = "") -> Iterator[None]:
    """Raises PreviewError for an object, perhaps of this name, that no hub would accept."""
    try:
        yield
    except SimulatorInputError as error:
        raise PreviewError(f"no hub would accept this: {error}") from error
    except msgspec.ValidationError as error:
        raise PreviewError(f"no hub would accept this: {name}: {problem_of(error)}") from error
