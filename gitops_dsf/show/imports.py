"""The text of `import`: the documents that were written or left alone, and the reasons."""

from collections.abc import Iterator

from gitops_dsf.importer.planned import Import, ImportLine
from gitops_dsf.wording import names_text


def written_lines(planned: Import) -> Iterator[str]:
    """A line for each object that is written."""
    for line in planned.added:
        yield f"{_object(planned, line)} added"
    for line in planned.changed:
        yield f"{_object(planned, line)}: {'; '.join(line.changes)}"
    for line in planned.carried:
        yield f"{_object(planned, line)} added as it is: {'; '.join(line.changes)}"


def left_lines(planned: Import) -> Iterator[str]:
    """A line for each object that is not written, and one for kinds that are none of ours."""
    # Decisions for people come first; the last line is only about kinds of other programs.
    for line in planned.differing:
        yield (
            f"{_object(planned, line)} differs on the hub ({'; '.join(line.changes)}); left"
            " alone; --overwrite takes the hub's"
        )
    for line in (*planned.refused, *planned.not_joined):
        yield f"{_object(planned, line)} is not written: {'; '.join(line.changes)}"
    for line in planned.left:
        yield f"{line.kind} {line.name} is left as it is: {'; '.join(line.changes)}"
    for line in planned.applied_elsewhere:
        yield (
            f"{_object(planned, line)} is also applied by the Argo CD Application"
            f" {'; '.join(line.changes)}: take it out there, without pruning, before the first sync"
        )
    for score in planned.undeclared:
        yield (
            f"{score} is not declared in spec.externalScores: no AddOnPlacementScore in the input"
            " has it, so its name may be misspelt; declare it if its add-on comes later"
        )
    if planned.declared:
        yield (
            f"spec.externalScores says nothing of the range of {names_text(planned.declared)}, nor"
            " of measuredAfterSeconds: what is published now does not show them; without them,"
            " validation expects -100 to 100"
        )
    # A cluster that the hub does not have may be one that is not registered yet, so no file is
    # deleted for that.
    for line in planned.missing:
        yield (
            f"{_object(planned, line)} is not on the hub; remove it here if it has left the fleet"
        )
    if planned.skipped:
        yield f"skipped: {', '.join(planned.skipped)}"


def import_summary(planned: Import, *, dry_run: bool) -> str:
    """The number of objects that were written."""
    added = len(planned.added) + len(planned.carried)
    changed = len(planned.changed)
    if dry_run:
        return f"{added} would be added, {changed} would be changed, {planned.unchanged} unchanged"
    return f"{added} added, {changed} changed, {planned.unchanged} unchanged"


def adoption_summary(planned: Import) -> str:
    """The consequences for the Applications of adopted ApplicationSets."""
    if planned.adopted == 1:
        return "1 ApplicationSet adopted; the first sync changes none of its Applications"
    return (
        f"{planned.adopted} ApplicationSets adopted; the first sync changes none of their"
        " Applications"
    )


def _object(planned: Import, line: ImportLine) -> str:
    return f"{planned.root / line.file}: {line.kind} {line.name}"
