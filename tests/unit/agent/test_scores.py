"""Results to items and to text: the same as the wire's own functions say, in any batches."""

import gzip
import math
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from dsf_agent import placement_score, results
from dsf_agent.exposition import Board, SampleText
from dsf_agent.placement_score import Builder, Naming, build
from dsf_agent.results import Result
from dsf_wire import dimension, scorevalue
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.summary import ScoreRange, Summary
from tests.support.agent.running import play

WIDTH = len(dimension.LABELS)
LABELS = st.tuples(*[st.text(max_size=4)] * WIDTH)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
RESULTS = st.lists(st.tuples(LABELS, SCORES), max_size=30)
TEMPLATE = st.lists(
    st.sampled_from([*(f"${{{name}}}" for name in dimension.PLACEHOLDERS), "${odd}", "%s", "%", ";", "${"]), max_size=5
).map("".join)


def test_the_labels_are_those_of_the_wire() -> None:
    """Names and order of what is decoded."""
    assert results.Labels.__struct_fields__ == dimension.LABELS


@given(TEMPLATE, LABELS, st.text(max_size=5), st.text(max_size=5))
def test_prepared_names_are_the_wires_names(template: str, labels: tuple[str, ...], cluster: str, score_name: str) -> None:
    """Whatever the format, with percent signs and unknown placeholders."""
    prepared = Naming(template=template, cluster=cluster, score_name=score_name).name(labels)
    plain = dict(zip(dimension.LABELS, labels, strict=True))
    assert prepared == dimension.fill(template, cluster=cluster, score_name=score_name, labels=plain)


def _scorer(**more: object) -> Summary:
    return Summary(name="n", score_name="s", score_dimension_format="${node}", **more)  # type: ignore[arg-type]


@given(
    RESULTS,
    st.sampled_from([None, "Last", "Mean", "Min", "Max", "Sum"]),
    st.sampled_from([None, ScoreRange(min=-1, max=1, output_min=100, output_max=0)]),
)
def test_items_are_what_the_wire_says(given_results: list[Result], how: str | None, score_range: ScoreRange | None) -> None:
    """Grouped by name, aggregated in the order of the answer, mapped, sorted, in range."""
    scorer = _scorer(score_aggregation=how, score_range=score_range)
    items = build(given_results, scorer=scorer, cluster="c")
    grouped: dict[str, list[float]] = {}
    for labels, score in given_results:
        if labels[0]:
            grouped.setdefault(labels[0], []).append(score)
    expected: dict[str, int] = {}
    for name, values in grouped.items():
        raw = scorevalue.aggregate(values, scorevalue.Aggregation(how or "Last"))
        if math.isfinite(raw):
            expected[name] = scorevalue.map_score(raw, score_range).value
    assert items.values == expected
    assert list(items.values) == sorted(expected)
    assert all(SCORE_MIN <= value <= SCORE_MAX for value in items.values.values())
    assert items.dropped[placement_score.DROP_NO_NAME] == sum(not labels[0] for labels, _ in given_results)


@given(RESULTS, st.integers(1, 7))
def test_batches_change_nothing(given_results: list[Result], size: int) -> None:
    """In pieces or in one go."""
    builder = Builder(scorer=_scorer(), cluster="c")
    for start in range(0, len(given_results), size):
        builder.add(given_results[start : start + size])
    items, clamped = builder.values(builder.order())
    assert builder.finish(items, clamped=clamped) == build(given_results, scorer=_scorer(), cluster="c")


def test_upstreams_collision_of_label_sets() -> None:
    """{node: a} and {pod: a} are two series and two items (upstream's map key loses one)."""
    both: list[Result] = [(("a", "", "", "", "", "", ""), 1.0), (("", "", "", "", "a", "", ""), 2.0)]
    scorer = Summary(name="n", score_name="s", score_dimension_format="${node};${pod}")
    assert build(both, scorer=scorer, cluster="c").values == {"a;": 1, ";a": 2}
    text = SampleText(cluster="c", score_name="s")
    text.add(both)
    assert b"".join(text.pieces()).count(b"\n") == 2


NASTY = st.text(alphabet=st.one_of(st.sampled_from('\\"\n{}=,%'), st.characters(codec="utf-8", exclude_characters="\r")), max_size=8)


@given(st.lists(st.tuples(st.tuples(*[NASTY] * WIDTH), SCORES), max_size=10), NASTY, NASTY)
def test_samples_can_be_parsed_back(given_results: list[Result], cluster: str, score_name: str) -> None:
    """Any label value survives the text format, the last of equal label sets counts, the raw score keeps all its digits."""
    text = SampleText(cluster=cluster, score_name=score_name)
    text.add(given_results)
    parsed: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(b"".join(text.pieces()).decode()):
        for sample in family.samples:
            assert (sample.labels["ds_cluster"], sample.labels["ds_score_name"]) == (cluster, score_name)
            parsed[tuple(sample.labels[f"ds_{label}"] for label in dimension.LABELS)] = sample.value
    assert parsed == dict(given_results)


def test_long_labels_are_cut_on_metrics_only() -> None:
    """At 256 characters, as upstream; the item's name is whole."""
    one: list[Result] = [(("n" * 10_000, "", "", "", "", "", ""), 1.0)]
    text = SampleText(cluster="c", score_name="s")
    text.add(one)
    assert f'ds_node="{"n" * 256}"'.encode() in b"".join(text.pieces())
    assert list(build(one, scorer=_scorer(), cluster="c").values) == ["n" * 10_000]


def test_the_gzip_file_is_one_member() -> None:
    """A reader that stops after the first member gets everything; replaced and dropped texts are gone."""

    async def story() -> None:
        board = Board()
        chance = random.Random(7)
        for name in ("a", "b", "c"):
            board.put(name, (f'dynamic_score{{ds_node="{name}"}} 1\n' * chance.randint(1, 3000)).encode())
        for _ in range(2):
            board.put("b", b"replaced 1\n")
            board.drop("c")
            data = b"".join(await board.gzipped(before=b"own 1\n", after=b"# EOF\n"))
            engine = zlib.decompressobj(16 + zlib.MAX_WBITS)
            plain = engine.decompress(data)
            assert engine.eof
            assert engine.unused_data == b""
            assert plain == b"own 1\n" + b"".join(board.plain()) + b"# EOF\n"
            assert gzip.decompress(data) == plain
            assert b"replaced" in plain

    play(story())


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2500])
def test_every_result_is_read(count: int) -> None:
    """Batches lose nothing at their ends."""

    async def story() -> None:
        rows = ",".join(f'{{"metric": {{"node": "n{number}"}}, "score": {number}}}' for number in range(count))
        read = await results.read(bytearray(f'{{"results": [{rows}]}}'.encode()), where="api")
        assert [(labels[0], score) for labels, score in read.results] == [(f"n{number}", float(number)) for number in range(count)]

    play(story())


@pytest.mark.parametrize("bad", ['"x"', "1e999", "NaN"])
def test_the_first_bad_result_is_named_by_its_place_in_the_answer(bad: str) -> None:
    """Beyond the first batch too, whichever way the answer is read."""

    async def story() -> None:
        rows = ",".join(f'{{"metric": {{}}, "score": {bad if number in {1500, 1600} else number}}}' for number in range(2000))
        read = await results.read(bytearray(f'{{"results": [{rows}]}}'.encode()), where="api")
        assert (len(read.results), read.dropped.total()) == (1998, 2)
        assert read.first_fault.startswith("result 1500: ")

    play(story())
