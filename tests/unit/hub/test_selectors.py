"""Label selectors: what matches and what Kubernetes refuses."""

from __future__ import annotations

import pytest

from gitops_dsf.hub.label_index import LabelIndex
from gitops_dsf.hub.objects import LabelRequirement, LabelSelector
from gitops_dsf.hub.selectors import Requirement, Selector, SelectorError, compile_selector

LABELS: list[dict[str, str]] = [{}, {"k": "a"}, {"k": "b"}, {"j": "a"}]


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        (Requirement("k", "In", ("a", "c")), {1}),
        (Requirement("k", "NotIn", ("a",)), {0, 2, 3}),
        (Requirement("k", "Exists"), {1, 2}),
        (Requirement("k", "DoesNotExist"), {0, 3}),
    ],
)
def test_index_and_requirement_agree(requirement: Requirement, found: set[int]) -> None:
    """NotIn and DoesNotExist hold for what does not have the key."""
    selector = Selector((requirement,))
    assert LabelIndex(dict(enumerate(LABELS))).select(selector) == found
    assert {position for position, labels in enumerate(LABELS) if selector.matches(labels)} == found


@pytest.mark.parametrize(
    ("key", "operator", "values", "message"),
    [
        ("k", "in", ("v",), '"in" is not a valid label selector operator'),
        ("k", "Gt", ("1",), '"Gt" is not a valid label selector operator'),
        ("k", "In", (), "values set can't be empty"),
        ("k", "Exists", ("v",), "values set must be empty"),
        ("k", "In", ("a b",), 'values[0][k]: Invalid value: "a b"'),
        ("k", "In", ("x" * 64,), "must be no more than 63 bytes"),
        ("a/b/c", "Exists", (), 'key: Invalid value: "a/b/c"'),
        ("Bad_Prefix/x", "Exists", (), "prefix part"),
        ("", "Exists", (), "key: Invalid value"),
        ("-k", "In", ("-v",), "[key: Invalid value"),
    ],
)
def test_refused(key: str, operator: str, values: tuple[str, ...], message: str) -> None:
    """The controller's words, as far as they name the mistake."""
    selector = LabelSelector(
        match_expressions=(LabelRequirement(key=key, operator=operator, values=values),)
    )
    with pytest.raises(SelectorError) as error:
        compile_selector(selector)
    assert message in str(error.value)


def test_absent_is_everything() -> None:
    """A struct field that is left out selects everything, an explicit `nothing` nothing."""
    assert LabelIndex(dict(enumerate(LABELS))).select(compile_selector(None)) == {0, 1, 2, 3}
    assert LabelIndex(dict(enumerate(LABELS))).select(Selector(nothing=True)) == set()
