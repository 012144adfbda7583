"""The parameters of a scoring function, and mistakes of authors, which show on import."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from dsf_scorer import DefinitionError, ScorerApp, Series, batch_scorer, scorer
from dsf_scorer.testing import ask, series


class Prices(msgspec.Struct, forbid_unknown_fields=True):
    prices: dict[str, float]
    default: float = 1.0


@dataclass(frozen=True)
class Window:
    seconds: int = 60


@scorer(name="priced", interval_seconds=60)
def priced(one: Series, arguments: Prices) -> float:
    return arguments.prices.get(one.labels.get("type", ""), arguments.default)


def test_a_struct_is_filled() -> None:
    assert ask(
        priced, [series([1], type="m"), series([1])], arguments={"prices": {"m": 4}}
    ).scores == [
        4.0,
        1.0,
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (None, "missing required field `prices` - at `$.arguments`"),
        ({"prices": {"m": "4"}}, "Expected `float`, got `str` - at `$.arguments.prices[...]`"),
        ({"prices": {}, "defalt": 2}, "unknown field `defalt`"),
    ],
)
def test_wrong_arguments_are_refused_with_their_place(
    arguments: dict[str, Any] | None, text: str
) -> None:
    reply = ask(priced, [], arguments=arguments)
    assert reply.status == 422
    assert text in reply.error
    assert "scoring.arguments of the DynamicScorer" in reply.error


def test_a_dataclass_with_defaults_needs_no_arguments() -> None:
    @scorer(name="window", interval_seconds=60)
    def app(one: Series, arguments: Window) -> float:
        return arguments.seconds

    assert ask(app, [series([1])]).scores == [60.0]
    assert ask(app, [series([1])], arguments={"seconds": 5}).scores == [5.0]


def test_the_default_of_the_parameter_counts() -> None:
    @scorer(name="defaulted", interval_seconds=60)
    def app(one: Series, arguments: Window = Window(seconds=7)) -> float:
        return arguments.seconds

    assert ask(app, [series([1])]).scores == [7.0]


def test_without_annotation_it_is_a_dict() -> None:
    @scorer(name="plain", interval_seconds=60)
    def app(one: Series, arguments) -> float:  # type: ignore[no-untyped-def] # noqa: ANN001
        return float(arguments["k"])

    assert ask(app, [series([1])], arguments={"k": 3}).scores == [3.0]


def none() -> float:
    return 1.0


def three(one: Series, arguments: Window, more: int) -> float:
    return 1.0


def keyword(one: Series, *, arguments: Window) -> float:
    return 1.0


def unknown(one: Series, arguments: "NoSuchType") -> float:  # type: ignore[name-defined] # noqa: F821
    return 1.0


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (none, "must take (series) or (series, arguments)"),
        (three, "must take (series) or (series, arguments)"),
        (keyword, "must take (series) or (series, arguments)"),
        (unknown, "NoSuchType"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused_on_import(function: Any, text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        scorer(name="wrong", interval_seconds=60)(function)
    assert text in str(caught.value)
    assert function.__name__ in str(caught.value)


GOOD: dict[str, Any] = {
    "name": "cpu",
    "query": "up",
    "range_seconds": 3600,
    "step_seconds": 60,
    "interval_seconds": 60,
}


def defined(**how: Any) -> ScorerApp:
    return batch_scorer(**how)(lambda _: [])


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"range_seconds": 0},
        {"range_seconds": 10_999, "step_seconds": 1},
        {"query": "", "range_seconds": 0, "step_seconds": 0},
        {"path": "/v1/score"},
        {"interval_seconds": 31_536_000},
    ],
)
def test_good_definitions(change: dict[str, Any]) -> None:
    assert ask(defined(**(GOOD | change)), []).scores == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": " "}, "name is empty"),
        ({"name": "x" * 254}, "name has 254 characters"),
        ({"interval_seconds": 0}, "interval_seconds is 0"),
        ({"interval_seconds": 31_536_001}, "interval_seconds is 31536001"),
        ({"step_seconds": 0}, "step_seconds is 0"),
        ({"range_seconds": -1}, "range_seconds is -1"),
        ({"range_seconds": 11_000, "step_seconds": 1}, "asks for 11001 points"),
        ({"query": " "}, "need a query"),
        ({"path": "scoring"}, "must start with /"),
        ({"path": "/scoring?x=1"}, "neither ? nor #"),
        ({"path": "/metrics"}, "taken by the SDK"),
    ],
)
def test_a_mistake_is_named(change: dict[str, Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        defined(**(GOOD | change))
    assert text in str(caught.value)


def test_all_mistakes_are_named_together() -> None:
    with pytest.raises(DefinitionError) as caught:
        defined(name="", path="x", query="up", interval_seconds=-1)
    assert str(caught.value).count(";") >= 3
