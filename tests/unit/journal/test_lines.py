"""The files of a journal, and the order of its records.

Bad lines are reported and skipped, and clocks may say anything.
"""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from gitops_dsf.hub.moves.flapping import DecisionChange
from gitops_dsf.journal.lines import appended, encode, file_of, read
from gitops_dsf.journal.record import Record, ScoreChange, new_record
from gitops_dsf.journal.timeline import by_placement, changes, in_order, recent, times, values_at
from tests.support.journalrecords import AT, record

LINE_BYTES = 256 << 10
MAX_NAMED = 100


def test_a_record_is_one_line_that_people_can_read() -> None:
    line = encode(record())
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert msgspec.json.decode(line) == {
        "id": record().id,
        "number": 1,
        "time": "2026-06-01T03:12:07.123000Z",
        "placement": "argocd/portal",
        "from": ["eu-1"],
        "left": ["eu-1"],
        "joined": ["eu-2"],
        "to": ["eu-2"],
        "count": 1,
        "before": 1,
    }
    assert read({"2026-06.jsonl": line}).records == (record(),)


def test_a_record_goes_to_the_file_of_its_month_in_utc() -> None:
    late = AT.replace(day=30, hour=23).astimezone(tz=None)
    assert file_of(record(at=late)) == "2026-06.jsonl"
    assert file_of(record(at=AT.replace(day=30, hour=23) + timedelta(hours=1))) == "2026-07.jsonl"


def test_a_record_that_is_there_twice_is_read_once() -> None:
    one, two = record(1), record(2)
    files = appended({}, [one])
    assert read(appended(files, [one, two])).records == (one, two)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "this line is not a record: Input data was truncated"),
        (b'{"id":"a"}', "missing required field `number`"),
        (b'{"id":"a","number":"b"}', "Expected `int`, got `str` - at `$.number`"),
        (b"\xff\xfe", "this line is not a record"),
        (b"[" * 100_000, "this line is not a record"),
        (b" " * LINE_BYTES + b"{}", f"a record has at most {LINE_BYTES}"),
    ],
)
def test_a_corrupt_line_is_told_with_its_place_and_skipped(line: bytes, problem: str) -> None:
    content = encode(record(1)) + line + b"\n\n" + encode(record(2))
    found = read({"2026-06.jsonl": content})
    assert found.records == (record(1), record(2))
    (bad,) = found.bad
    assert bad.startswith("2026-06.jsonl:2: ")
    assert problem in bad


def test_a_large_decision_is_recorded_by_what_left_and_joined() -> None:
    before = {f"c{number:04}" for number in range(3000)}
    found = new_record(
        placement="argocd/everywhere",
        number=1,
        time=AT,
        kind="Change",
        before=before,
        after=before - {"c0007"} | {"new"},
    )
    assert (found.left, found.joined, found.to) == (("c0007",), ("new",), None)
    assert (found.before, found.count, found.more, found.from_) == (3000, 3000, 0, None)
    gone = new_record(
        placement="argocd/everywhere",
        number=2,
        time=AT,
        kind="Change",
        before=before,
        after=set(),
    )
    assert (len(gone.left), gone.more) == (MAX_NAMED, 3000 - MAX_NAMED)
    assert gone.from_ is None


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_that_does_not_exist_in_utc_is_a_bad_line(time: str) -> None:
    line = encode(record()).replace(b"2026-06-01T03:12:07.123000Z", time.encode())
    found = read({"2026-06.jsonl": line + encode(record(2))})
    assert found.records == (record(2),)
    assert list(found.bad) == [
        "2026-06.jsonl:1: this line is not a record: date value out of range"
    ]


def test_a_clock_that_went_back_does_not_swap_changes() -> None:
    first, second = record(1, "a", "b", at=AT + timedelta(seconds=60)), record(2, "b", "a", at=AT)
    assert by_placement([second, first]) == {"argocd/portal": [first, second]}
    assert times([first, second]) == [first.time.timestamp()] * 2
    assert in_order([second, first]) == [first, second]
    assert changes([first, second]) == (
        DecisionChange(at=first.time.timestamp(), left=("a",), joined=("b",)),
        DecisionChange(at=first.time.timestamp(), left=("b",), joined=("a",)),
    )


def test_scores_add_up_from_record_to_record() -> None:
    first = record(
        1,
        scores=(
            ScoreChange(name="AddOn/cpu/cpu", cluster="a", after=10),
            ScoreChange(name="AddOn/cpu/cpu", cluster="b", after=20),
        ),
    )
    second = record(
        2,
        scores=(
            ScoreChange(name="AddOn/cpu/cpu", cluster="a", before=10, after=30),
            ScoreChange(name="AddOn/cpu/cpu", cluster="b", before=20),
        ),
    )
    assert list(values_at([first, second])) == [
        {("AddOn/cpu/cpu", "a"): 10, ("AddOn/cpu/cpu", "b"): 20},
        {("AddOn/cpu/cpu", "a"): 30},
    ]


def test_an_application_is_found_by_any_of_its_names() -> None:
    found = record(applications=("portal-eu",))
    assert all(found.is_about(name) for name in ("portal", "argocd/portal", "portal-eu"))
    assert not any(found.is_about(name) for name in ("argocd", "shop", "kube/portal"))


def told(number: int, **scores: int) -> Record:
    changes = tuple(
        ScoreChange(name="AddOn/cpu/cpu", cluster=name, after=value)
        for name, value in scores.items()
    )
    return record(number, at=datetime.fromtimestamp(number, UTC), scores=changes)


RECORDS = [told(1, a=1, b=2), told(2, a=3), told(3, b=4), told(4, a=5)]


@pytest.mark.parametrize(
    ("since", "limit", "kept"),
    [(0, 9, [1, 2, 3, 4]), (3, 9, [3, 4]), (99, 9, [4]), (0, 2, [3, 4]), (3, 1, [4])],
)
def test_scores_of_forgotten_records_stay(since: float, limit: int, kept: list[int]) -> None:
    found = recent(RECORDS, since=since, limit=limit)
    assert [each.number for each in found] == kept
    assert list(values_at(found)) == list(values_at(RECORDS))[-len(kept) :]
