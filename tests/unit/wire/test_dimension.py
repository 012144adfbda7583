"""Dimension formats: filled by labels, fixed or not, possible or not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_wire import dimension

LABELS = {"node": "n1", "pod": "p1", "meta": "${pod}"}


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("", "s"),
        ("${scoreName}", "s"),
        ("${cluster}/${node}", "c1/n1"),
        ("${node};${app};${pod}", "n1;;p1"),
        ("${unknown}-${node}", "${unknown}-n1"),
        ("plain $node", "plain $node"),
        ("${meta}", "${pod}"),
        ("${node", "${node"),
    ],
)
def test_fill(template: str, name: str) -> None:
    """One pass: what a label holds is never filled again."""
    assert dimension.fill(template, cluster="c1", score_name="s", labels=LABELS) == name


@pytest.mark.parametrize(
    ("template", "fixed"),
    [
        ("", "s"),
        ("${scoreName}-x", "s-x"),
        ("total", "total"),
        ("${odd}", "${odd}"),
        ("${node}", None),
        ("${cluster}", None),
    ],
)
def test_fixed_name(template: str, fixed: str | None) -> None:
    """Only a format that no label or cluster decides has one name everywhere."""
    assert dimension.fixed_name(template, score_name="s") == fixed


def test_many_placeholders_are_matched_in_no_time() -> None:
    template = ";".join("${node}" for _ in range(30))
    assert dimension.can_yield(template, ";" * 29, score_name="s")
    assert not dimension.can_yield(template + "!", ";x" * 2000, score_name="s")


@given(
    st.lists(
        st.sampled_from(
            ["${node}", "${pod}", "${cluster}", "${scoreName}", "${other}", "a", ";", "ab", "("]
        ),
        max_size=6,
    ),
    st.text(alphabet="ab;s", max_size=8),
    st.dictionaries(st.sampled_from(["node", "pod"]), st.text(alphabet="ab;\n", max_size=3)),
)
def test_it_agrees_with_a_pattern_that_backtracks(
    pieces: list[str], name: str, labels: dict[str, str]
) -> None:
    template = "".join(pieces) or "x"
    pattern = re.escape(template).replace(re.escape("${scoreName}"), "s")
    for label in ("node", "pod", "cluster"):
        pattern = pattern.replace(re.escape(f"${{{label}}}"), ".*")
    assert dimension.can_yield(template, name, score_name="s") == bool(
        re.fullmatch(pattern, name, re.DOTALL)
    )
    # It says yes to every name that fill makes.
    assert dimension.can_yield(
        template,
        dimension.fill(template, cluster="c", score_name="s", labels=labels),
        score_name="s",
    )
