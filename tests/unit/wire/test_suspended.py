from typing import Any

import msgspec
import pytest

from dsf_wire.suspended import score_names


@pytest.mark.parametrize("data", [None, {}, {"scorers": ""}, {"scorers": "[]"}, {"other": "cpu"}])
def test_no_name_suspends_no_scorer(data: Any) -> None:
    assert score_names(data) == frozenset()


def test_the_names_are_a_json_array() -> None:
    assert score_names({"scorers": '["cpu", "gpu", "cpu"]', "other": "x"}) == {"cpu", "gpu"}


@pytest.mark.parametrize("data", [{"scorers": "cpu"}, {"scorers": "[1]"}, {"scorers": 5}, ["cpu"], "cpu"])
def test_anything_else_is_an_error(data: Any) -> None:
    with pytest.raises(msgspec.DecodeError):
        score_names(data)
