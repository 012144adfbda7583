"""The status of a hub as JSON: its values, with the sentences of notes."""

from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.status.notes import order_note_text, placement_note_text
from gitops_dsf.views.status.build import Overview, document
from gitops_dsf.views.status.joborders import OrderNote
from gitops_dsf.views.status.placements import PlacementNote


def status_json(view: Overview) -> str:
    """Formats the output of `status -o json`."""
    return json_text(document(view), sentence=_sentence)


def _sentence(note: PlacementNote | OrderNote) -> str:
    return order_note_text(note) if isinstance(note, OrderNote) else placement_note_text(note)
