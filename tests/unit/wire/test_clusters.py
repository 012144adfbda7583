"""The list of the hub scorer's clusters.

What is written is read again, and nothing else is accepted.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_wire import clusters
from dsf_wire.clusters import ClustersError, FleetCluster

FLEETS = st.lists(
    st.builds(
        FleetCluster,
        name=st.text(min_size=1, max_size=8),
        scorers=st.lists(st.sampled_from(("cpu", "mem", "price")), max_size=3, unique=True).map(
            tuple
        ),
        values=st.dictionaries(
            st.sampled_from(("claim:id", "label:x")), st.text(max_size=5), max_size=2
        ),
    ),
    max_size=8,
    unique_by=lambda item: item.name,
)


@given(FLEETS)
def test_what_is_written_is_read_again(fleet: list[FleetCluster]) -> None:
    text = clusters.encode(fleet)
    assert list(clusters.decode(text)) == sorted(fleet, key=lambda item: item.name)
    assert clusters.encode(reversed(fleet)) == text


def test_clusters_with_the_same_scorers_share_a_list_and_have_a_line_each() -> None:
    fleet = [FleetCluster(name=f"c{index}", scorers=("cpu", "mem")) for index in range(2)]
    text = clusters.encode([*fleet, FleetCluster(name="idle", values={"claim:id": "x"})])
    assert text.splitlines() == [
        "{",
        '"scorers": [',
        '  ["cpu","mem"]',
        "],",
        '"clusters": [',
        '  {"name":"c0","scorers":0},',
        '  {"name":"c1","scorers":0},',
        '  {"name":"idle","values":{"claim:id":"x"}}',
        "]",
        "}",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a valid list of clusters"),
        ("[]", "not a valid list of clusters"),
        ('{"scorers": [], "clusters": [{"name": "a"}', "not a valid list of clusters"),
        ('{"scorers": [], "clusters": [{"name": ""}]}', "a cluster has no name"),
        (
            '{"scorers": [], "clusters": [{"name": "a"}, {"name": "a"}]}',
            "the cluster 'a' is listed twice",
        ),
        (
            '{"scorers": [["x"]], "clusters": [{"name": "a", "scorers": 1}]}',
            "refers to list 1 of 1",
        ),
        (
            '{"scorers": [["x"]], "clusters": [{"name": "a", "scorers": -1}]}',
            "refers to list -1 of 1",
        ),
    ],
)
def test_a_list_that_is_not_valid_is_refused_as_a_whole(text: str, message: str) -> None:
    with pytest.raises(ClustersError, match=message):
        clusters.decode(text)


@pytest.mark.parametrize("encoded", [True, False])
def test_a_byte_order_mark_is_no_part_of_the_list(encoded: bool) -> None:
    text = "\ufeff" + clusters.encode([FleetCluster(name="c1", scorers=("cpu",))])
    assert clusters.decode(text.encode() if encoded else text) == (
        FleetCluster(name="c1", scorers=("cpu",)),
    )
