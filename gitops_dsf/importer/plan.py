"""Plans an import of all requested objects."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitops_dsf.importer.adoption.adopt import ADOPTED_KINDS, adopt
from gitops_dsf.importer.adoption.otherscores import SCORE_KIND
from gitops_dsf.importer.planned import Import
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.importer.take import TAKEN_KINDS
from gitops_dsf.importer.valid import take_valid
from gitops_dsf.repository.sources import load


def plan_import(
    root: Path,
    objects: Iterable[Mapping[str, Any]],
    *,
    selection: ImportSelection,
    overwrite: bool = False,
    adopted: Sequence[str] = (),
) -> Import:
    """Plans an import; writes nothing.

    `adopted` are globs of names of ApplicationSets that are adopted with the Placements that they
    follow; without one, objects of both kinds are skipped. Raises RepositoryError when something
    cannot be read or compared, or when there is nothing to import.
    """
    if not adopted:
        return take_valid(root, objects, selection=selection, overwrite=overwrite)
    running: list[Mapping[str, Any]] = []
    others: list[Mapping[str, Any]] = []
    for data in objects:
        group = running if data.get("kind") in (*ADOPTED_KINDS, SCORE_KIND) else others
        group.append(data)
    loaded = load(root)
    planned = Import(root=root)
    # A file may hold nothing but what is adopted.
    if not running or any(data.get("kind") in TAKEN_KINDS for data in others):
        planned = take_valid(root, others, selection=selection, overwrite=overwrite, loaded=loaded)
    adopt(planned, running, loaded=loaded, names=adopted)
    return planned
