"""Old months get smaller, and keep who moved, when and where."""

from datetime import UTC, datetime

import msgspec

from gitops_dsf.journal.compaction import compacted
from gitops_dsf.journal.lines import encode, read
from gitops_dsf.journal.record import ClusterReason, ScoreChange, new_record

PLAIN = new_record(
    placement="argocd/portal",
    number=1,
    time=datetime(2026, 5, 3, tzinfo=UTC),
    kind="Change",
    before={"a"},
    after={"b"},
)
FULL = msgspec.structs.replace(
    PLAIN,
    clusters=(ClusterReason(cluster="b", selected=True, reason="rank 1 of 2 with 90 points"),),
    scores=(ScoreChange(name="AddOn/cpu/cpu", cluster="b", after=90),),
    doubt="unsure",
)


def test_only_older_months_lose_their_details() -> None:
    files = {"2026-05.jsonl": encode(FULL), "2026-06.jsonl": encode(FULL), "README.md": b"words\n"}
    found = compacted(files, before="2026-06")
    assert list(found) == ["2026-05.jsonl"]
    assert read(found).records == (msgspec.structs.replace(PLAIN, compacted=True),)
    assert compacted(found, before="2026-06") == {}


def test_bad_lines_and_unknown_keys_stay() -> None:
    newer = {**msgspec.json.decode(encode(FULL)), "weather": "rain"}
    content = b"what is this?\n" + msgspec.json.encode(newer) + b"\n"
    (line, kept) = compacted({"2026-05.jsonl": content}, before="2027-01")["2026-05.jsonl"].splitlines()
    assert line == b"what is this?"
    assert msgspec.json.decode(kept)["weather"] == "rain"
    assert "scores" not in msgspec.json.decode(kept)


def test_a_record_with_a_key_that_is_no_text_stays() -> None:
    """Unknown keys are not read, so the record itself can be."""
    line = encode(FULL).rstrip()[:-1] + b',"x":"\xff"}'
    assert read({"": line}).records == (FULL,)
    files = {"2026-05.jsonl": line + b"\n" + encode(FULL)}
    (kept, _) = compacted(files, before="2027-01")["2026-05.jsonl"].splitlines()
    assert kept == line
