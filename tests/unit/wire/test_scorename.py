"""Score name to object name, by upstream's rule, and to the selector of raw scores."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.samples import SamplePrefix
from dsf_wire import scorename
from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import label_of, selector

DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@pytest.mark.parametrize(
    ("score_name", "name"),
    [
        ("cpu", "cpu"),
        ("simple_prediction_score", "simple-prediction-score"),
        ("Sample_My_Score", "sample-my-score"),
        ("a__b", "a-b"),
        ("a_-_b", "a-b"),
        ("--a.b--", "a.b"),
        (".hidden.", "hidden"),
        ("", "score"),
        ("___", "score"),
        ("ÜBER", "ber"),
        ("x" * 300, "x" * 253),
        ("x" * 252 + "-y", "x" * 252),
        ("x" * 250 + "...y", "x" * 250),
    ],
)
def test_rule(score_name: str, name: str) -> None:
    assert scorename.sanitise(score_name) == name


@given(st.text(max_size=400))
def test_the_outcome_begins_and_ends_well(score_name: str) -> None:
    """The characters, the ends and the length are those of an object name, which stays as it is."""
    once = scorename.sanitise(score_name)
    assert DNS_SUBDOMAIN.fullmatch(once)
    assert scorename.sanitise(once) == once


@pytest.mark.parametrize("score_name", ["cpu_headroom", 'a"b', "a\\b", "a\nb", "zürich"])
def test_the_selector_writes_the_name_as_the_exported_sample_does(score_name: str) -> None:
    sample = SamplePrefix(cluster="c1", score_name=score_name).of(("",) * len(LABELS)).decode()
    metric, _, matcher = selector(score_name).partition("{")
    assert sample.startswith(f"{metric}{{")
    assert sample.endswith(f",{matcher} ")


def test_labels_of_a_result_have_a_prefix() -> None:
    sample = SamplePrefix(cluster="c1", score_name="s").of(LABELS).decode()
    assert all(f'{label_of(label)}="{label}"' in sample for label in LABELS)
