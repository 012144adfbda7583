"""A repository as people declared it: every object that is well-formed on its own, still next to its
document.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.cluster import ManagedCluster, ManagedClusterSet
from gitops_dsf.repository.model.delivery import RawApplicationSet, RawPlacement
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, eq=False, slots=True)
class Item(Generic[T_co]):
    """A well-formed object and the document that it was read from."""

    value: T_co
    document: Document

    @property
    def name(self) -> str:
        """metadata.name."""
        return self.document.name

    @property
    def position(self) -> Position:
        """Where metadata.name is written."""
        return self.document.position

    def at(self, *path: str | int) -> Position:
        """Where the value of a path is written, or the nearest parent that is."""
        return self.document.at(path)

    def inside(self, path: Path, offset: int) -> Position:
        """Where a character of a string value is written."""
        return self.document.inside(path, offset)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Declared:
    """Well-formed objects by kind, sorted by name; of objects with one identity the first in the order of
    files.
    """

    repository: Item[FleetRepository] | None
    scorers: tuple[Item[DynamicScorer], ...]
    scoring_configs: tuple[Item[DynamicScoringConfig], ...]
    clusters: tuple[Item[ManagedCluster], ...]
    cluster_sets: tuple[Item[ManagedClusterSet], ...]
    locks: tuple[Item[ScorerLock], ...]
    applications: tuple[Item[ScoredApplication], ...]
    placements: tuple[Item[RawPlacement], ...]
    application_sets: tuple[Item[RawApplicationSet], ...]
    malformed: frozenset[tuple[str, str]]
    """Kind and name of objects that are there but not well-formed: references to them are not mistakes of
    their own. An empty name is one that cannot be told: any name of that kind could be it.
    """
    mended: tuple[Item[Authored], ...]
    """Malformed objects with their mistakes cut out: for checks that look at one field alone, never to
    conclude from what is absent.
    """
    disputed: frozenset[tuple[str, str]]
    """Kind and name of objects with a value that readers disagree about: nothing follows from what it does
    not match.
    """
    unreadable: frozenset[str]
    """Kinds of which a document may be one that could not be read at all: then nothing can be said about what
    is missing.
    """
    diagnostics: tuple[Diagnostic, ...]
    """Everything found so far, loading included."""
