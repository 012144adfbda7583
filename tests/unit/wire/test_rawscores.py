"""Selecting the raw scores that agents export."""

import pytest

from dsf_agent.metrics import SamplePrefix
from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import label_of, selector


@pytest.mark.parametrize("score_name", ["cpu_headroom", 'a"b', "a\\b", "a\nb", "zürich"])
def test_the_selector_writes_the_name_as_the_exported_sample_does(score_name: str) -> None:
    sample = SamplePrefix(cluster="c1", score_name=score_name).of(("",) * len(LABELS)).decode()
    metric, _, matcher = selector(score_name).partition("{")
    assert sample.startswith(f"{metric}{{")
    assert sample.endswith(f",{matcher} ")


def test_labels_of_a_result_have_a_prefix() -> None:
    sample = SamplePrefix(cluster="c1", score_name="s").of(LABELS).decode()
    assert all(f'{label_of(label)}="{label}"' in sample for label in LABELS)
