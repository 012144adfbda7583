"""Finds other writers of an AddOnPlacementScore in its managedFields, which have an entry for each.

An object without labels that was created and updated, as upstream does, has none until the first
apply.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from dsf_wire.constants import AGENT_MANAGER

APPLY: Final = "Apply"
STATUS: Final = "status"


class FieldsOwner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The writer of an entry in metadata.managedFields."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""

    @property
    def ours(self) -> bool:
        """Whether our agent applied this entry to the status."""
        return (
            self.subresource == STATUS and self.manager == AGENT_MANAGER and self.operation == APPLY
        )


class FieldsEntry(FieldsOwner, frozen=True, kw_only=True, omit_defaults=True):
    """An entry of metadata.managedFields. Its list of fields, which may be large, stays JSON."""

    api_version: str = msgspec.field(default="", name="apiVersion")
    time: datetime | None = None
    fields_type: str = msgspec.field(default="", name="fieldsType")
    fields_v1: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="fieldsV1")


@dataclass(frozen=True, kw_only=True)
class ScoreWriter:
    """A program that wrote scores, and the Unix time of its last write.

    They are empty and None if they are not known.
    """

    manager: str
    at: float | None


UNNAMED: Final = ScoreWriter(manager="", at=None)


def other_writers(
    entries: Sequence[FieldsEntry], *, labelled: bool, scored: bool
) -> tuple[ScoreWriter, ...]:
    """The writers of the status besides our agent.

    ``labelled``: with our label. ``scored``: with scores.
    """
    status_entries = [entry for entry in entries if entry.subresource == STATUS]
    # Upstream's agent (f5844b9) writes without an entry. Ours always sets its label.
    if scored and not status_entries and not labelled:
        return (UNNAMED,)
    # After the first apply, what was there before is listed with the manager `before-first-apply`,
    # which co-owns every item: it is another writer, too.
    writers: list[ScoreWriter] = []
    for entry in status_entries:
        if not entry.ours:
            at = None if entry.time is None else entry.time.timestamp()
            writers.append(ScoreWriter(manager=entry.manager, at=at))
    return tuple(writers)
