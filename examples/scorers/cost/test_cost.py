from typing import Any

from cost import TYPE_LABEL, app

from dsf_scorer.testing import ask, series


def nodes(instance_type: str, *cpus: float) -> dict[str, Any]:
    return series(cpus, **{TYPE_LABEL: instance_type})


PRICES = {"prices": {"m7i.large": 5.0, "m7g.large": 3.0}}


def test_prices_are_weighted_by_vcpus() -> None:
    reply = ask(app, [nodes("m7i.large", 4, 6), nodes("m7g.large", 2, 2)], arguments=PRICES)
    assert reply.scores == [(6 * 5.0 + 2 * 3.0) / 8]


def test_a_type_without_a_price_is_an_error_that_names_it() -> None:
    reply = ask(app, [nodes("p5.48xlarge", 192)], arguments=PRICES)
    assert reply.status == 422
    assert "no price for instance type 'p5.48xlarge' (192 vCPUs)" in reply.error


def test_a_default_price_covers_the_rest() -> None:
    assert ask(app, [nodes("other", 2)], arguments=PRICES | {"defaultPrice": 4}).scores == [4.0]


def test_without_nodes_there_is_no_score() -> None:
    assert ask(app, [nodes("m7i.large", 0), nodes("m7i.large")], arguments=PRICES).scores == []


def test_the_table_is_required() -> None:
    assert "missing required field `prices`" in ask(app, []).error
