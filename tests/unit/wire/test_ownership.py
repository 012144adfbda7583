"""Who else writes an AddOnPlacementScore."""

from datetime import UTC, datetime

import msgspec
import pytest

from dsf_wire.ownership import UNNAMED, FieldsEntry, ScoreWriter, other_writers

OURS = FieldsEntry(manager="gitops-dsf-agent", operation="Apply", subresource="status")
LABELS = FieldsEntry(manager="gitops-dsf-agent", operation="Apply")
AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
OTHER = FieldsEntry(
    manager="dynamic-scoring-agent", operation="Update", subresource="status", time=AT
)
OTHERS_LABELS = FieldsEntry(manager="kubectl-label", operation="Update", time=AT)


@pytest.mark.parametrize(
    ("entries", "labelled", "scored", "found"),
    [
        ([OURS, LABELS], True, True, ()),
        ([OURS, OTHERS_LABELS], True, True, ()),
        (
            [OURS, OTHER],
            True,
            True,
            (ScoreWriter(manager="dynamic-scoring-agent", at=AT.timestamp()),),
        ),
        ([OTHER], False, True, (ScoreWriter(manager="dynamic-scoring-agent", at=AT.timestamp()),)),
        (
            [msgspec.structs.replace(OTHER, time=None)],
            True,
            True,
            (ScoreWriter(manager=OTHER.manager, at=None),),
        ),
        ([], False, True, (UNNAMED,)),
        ([OTHERS_LABELS], False, True, (UNNAMED,)),
        ([], False, False, ()),
        ([LABELS], True, False, ()),
        ([], True, True, ()),
    ],
    ids=[
        "ours",
        "labels",
        "both",
        "other",
        "upstream",
        "without a time",
        "upstream-labelled",
        "upstream-created",
        "created",
        "restored",
    ],
)
def test_other_writers(
    entries: list[FieldsEntry], labelled: bool, scored: bool, found: tuple[ScoreWriter, ...]
) -> None:
    assert other_writers(entries, labelled=labelled, scored=scored) == found


def test_ours_is_what_our_agent_applied_to_the_status() -> None:
    assert OURS.ours
    assert not any(one.ours for one in (LABELS, OTHER, OTHERS_LABELS))
    assert not msgspec.structs.replace(OURS, operation="Update").ours
    assert not msgspec.structs.replace(OURS, manager="another").ours


def test_an_entry_reads_back_as_it_was_written() -> None:
    text = (
        b'{"manager":"a","operation":"Update","apiVersion":"v1","time":"2026-06-01T12:00:00Z",'
        b'"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{}}}}'
    )
    assert msgspec.json.encode(msgspec.json.decode(text, type=FieldsEntry)) == text
