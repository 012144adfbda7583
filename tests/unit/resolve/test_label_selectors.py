"""The syntax of label values, as the rules ask for it."""

import pytest

from gitops_dsf.resolve.label_selectors import label_value


@pytest.mark.parametrize("value", ["", "eu-west_1.a", "a" * 63])
def test_a_label_value_of_kubernetes_is_valid(value: str) -> None:
    assert label_value(value)


@pytest.mark.parametrize("value", ["-a", "a" * 64, "größe", "a\ud800"])
def test_another_text_is_not_valid_and_no_error(value: str) -> None:
    assert not label_value(value)
