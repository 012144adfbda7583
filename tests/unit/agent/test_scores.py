"""Results become the same items and samples as with the functions of dsf_wire, in any batches."""

import asyncio
import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from dsf_agent.samples import sample_text
from dsf_agent.scoring import results
from dsf_agent.scoring.items import DROP_NO_NAME, Items, items_of
from dsf_agent.scoring.labels import Labels, LabelSet, LabelSets, item_namer
from dsf_wire import dimension, scorevalue
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.summary import ScoreRange, ScorerSummary
from tests.support.laws import examples

MAX_KEPT = 20_000
MAX_KEPT_BYTES = 1 << 10
MAX_NAME = 1 << 10

Result = tuple[tuple[str, ...], float]
"""Labels in the order of dimension.LABELS, and the score."""

WIDTH = len(dimension.LABELS)
LABELS = st.tuples(*[st.text(max_size=4)] * WIDTH)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
RESULTS = st.lists(st.tuples(LABELS, SCORES), max_size=30)
TEMPLATE = st.lists(
    st.sampled_from(
        [*(f"${{{name}}}" for name in dimension.PLACEHOLDERS), "${odd}", "%s", "%", ";", "${"]
    ),
    max_size=5,
).map("".join)


def test_the_labels_are_those_of_the_wire() -> None:
    assert Labels.__struct_fields__ == dimension.LABELS


@given(TEMPLATE, LABELS, st.text(max_size=5), st.text(max_size=5))
def test_item_names_are_those_of_the_wire(
    template: str, labels: tuple[str, ...], cluster: str, score_name: str
) -> None:
    prepared = item_namer(template=template, cluster=cluster, score_name=score_name)(labels)
    plain = dict(zip(dimension.LABELS, labels, strict=True))
    assert prepared == dimension.fill(
        template, cluster=cluster, score_name=score_name, labels=plain
    )


def _scorer(**more: object) -> ScorerSummary:
    return ScorerSummary(name="n", score_name="s", score_dimension_format="${node}", **more)  # type: ignore[arg-type]


def _label_sets(
    template: str = "${node}", *, cluster: str = "c", score_name: str = "s"
) -> LabelSets:
    return LabelSets(template=template, cluster=cluster, score_name=score_name)


def _items(given_results: list[Result], *, scorer: ScorerSummary, size: int = 1000) -> Items:
    label_sets = _label_sets(scorer.score_dimension_format)
    found = [label_sets.of(labels) for labels, _ in given_results]
    return asyncio.run(items_of(scorer, found, [score for _, score in given_results], batch=size))


def _text(given_results: list[Result], label_sets: LabelSets) -> bytes:
    samples = {label_sets.of(labels).line: score for labels, score in given_results}
    return b"".join(asyncio.run(sample_text(samples)))


@example([(("\0", *[""] * (WIDTH - 1)), 0.0)], None, None)
@given(
    RESULTS,
    st.sampled_from([None, "Last", "Mean", "Min", "Max", "Sum"]),
    st.sampled_from([None, ScoreRange(min=-1, max=1, output_min=100, output_max=0)]),
)
def test_items_are_those_of_the_wire(
    given_results: list[Result], how: str | None, score_range: ScoreRange | None
) -> None:
    scorer = _scorer(score_aggregation=how, score_range=score_range)
    items = _items(given_results, scorer=scorer)
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
    assert items.dropped[DROP_NO_NAME] == sum(not labels[0] for labels, _ in given_results)


@examples(25, soak=1000)
@given(RESULTS, st.integers(1, 7))
def test_the_size_of_batches_does_not_matter(given_results: list[Result], size: int) -> None:
    assert _items(given_results, scorer=_scorer(), size=size) == _items(
        given_results, scorer=_scorer()
    )


NASTY = st.text(
    alphabet=st.one_of(
        st.sampled_from('\\"\n{}=,%'), st.characters(codec="utf-8", exclude_characters="\r")
    ),
    max_size=8,
)


@given(st.lists(st.tuples(st.tuples(*[NASTY] * WIDTH), SCORES), max_size=10), NASTY, NASTY)
def test_samples_can_be_parsed_back(
    given_results: list[Result], cluster: str, score_name: str
) -> None:
    text = _text(given_results, _label_sets(cluster=cluster, score_name=score_name))
    parsed: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            assert (sample.labels["ds_cluster"], sample.labels["ds_score_name"]) == (
                cluster,
                score_name,
            )
            parsed[tuple(sample.labels[f"ds_{label}"] for label in dimension.LABELS)] = sample.value
    assert parsed == dict(given_results)


def test_long_labels_are_cut_on_metrics_only() -> None:
    """They are cut at 256 characters, as upstream. The name of the item is not cut."""
    one: list[Result] = [(("n" * MAX_NAME, "", "", "", "", "", ""), 1.0)]
    assert f'ds_node="{"n" * 256}"'.encode() in _text(one, _label_sets())
    assert list(_items(one, scorer=_scorer()).values) == ["n" * MAX_NAME]


@pytest.mark.parametrize("bad", ['"x"', "1e999", "NaN"])
async def test_the_first_invalid_result_is_named_by_its_index(bad: str) -> None:
    wrong = {results.BATCH + 50, results.BATCH + 60}
    rows = ",".join(
        f'{{"metric": {{}}, "score": {bad if number in wrong else number}}}'
        for number in range(2 * results.BATCH)
    )
    read = await results.read(
        f'{{"results": [{rows}]}}'.encode(), where="api", label_sets=_label_sets()
    )
    assert (len(read.scores), read.dropped.total()) == (2 * results.BATCH - 2, 2)
    assert read.first_fault.startswith(f"result {results.BATCH + 50}: ")


METRIC = st.dictionaries(
    st.sampled_from([*dimension.LABELS, "other"]), st.text(max_size=3), max_size=3
)


@examples(25, soak=1000)
@given(st.lists(st.lists(st.tuples(METRIC, SCORES), max_size=6), max_size=5))
async def test_cached_label_sets_do_not_change_results(
    answers: list[list[tuple[dict[str, str], float]]],
) -> None:
    remembering = _label_sets("${node};${pod}")
    for answer in answers:
        rows = [{"metric": metric, "score": score} for metric, score in answer]
        body = json.dumps({"results": rows}, ensure_ascii=len(rows) % 2 == 0).encode()
        again = await results.read(body, where="api", label_sets=remembering)
        assert again == await results.read(
            body, where="api", label_sets=_label_sets("${node};${pod}")
        )
        assert [one.item for one in again.label_sets] == [
            f"{metric.get('node', '')};{metric.get('pod', '')}" for metric, _ in answer
        ]


def test_label_sets_are_kept_while_answers_have_them() -> None:
    label_sets = _label_sets()
    small, huge = b'{"node":"a"}', b'{"node":"%b"}' % (b"n" * MAX_KEPT_BYTES)

    def read(*metrics: bytes) -> list[LabelSet]:
        with label_sets.answer():
            return label_sets.read(metrics)

    first = read(small, huge)
    second = read(small, huge)
    assert second[0] is first[0]
    assert second[1] == first[1]
    assert second[1] is not first[1]
    read()
    assert read(small)[0] is not first[0]


def test_nothing_is_kept_of_an_answer_that_fails() -> None:
    """Ten thousand label sets of an answer that was refused would stay until the next one."""
    label_sets = _label_sets()
    with pytest.raises(ValueError, match="refused"), label_sets.answer():  # noqa: PT012 - the block is the test
        first = label_sets.read([b'{"node":"a"}'])
        raise ValueError("refused")
    assert label_sets.kept_bytes == 0
    with label_sets.answer():
        assert label_sets.read([b'{"node":"a"}'])[0] is not first[0]
    assert label_sets.kept_bytes == len(b'{"node":"a"}')


def test_the_number_of_kept_label_sets_is_limited() -> None:
    """An answer with ever more of them costs time, but not memory for months."""
    label_sets = _label_sets()
    metrics = [b'{"node":"%d"}' % number for number in range(MAX_KEPT + results.BATCH)]
    kept = []
    for _ in range(2):
        with label_sets.answer():
            found = [
                one
                for start in range(0, len(metrics), results.BATCH)
                for one in label_sets.read(metrics[start : start + results.BATCH])
            ]
        assert [one.item for one in found] == [str(number) for number in range(len(metrics))]
        kept.append(found)
    same = [before is after for before, after in zip(*kept, strict=True)]
    assert same == [True] * MAX_KEPT + [False] * results.BATCH
