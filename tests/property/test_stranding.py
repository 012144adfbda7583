"""Which windows of maintenance leave an application too few clusters.

What `validate` says, against every instant and every set of windows, tried one by one.
"""

import re
from itertools import combinations
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.support.laws import examples
from tests.support.repositories import APP, BASE, findings

CLUSTERS = ("c1", "c2", "c3", "c4")
INVENTORY = "---\n".join(BASE["clusters/c.yaml"].replace("prod-1", name) for name in CLUSTERS)
PACED = BASE["gitops-dsf.yaml"].replace("spec: {", "spec: {pace: {}, ")


class Window(NamedTuple):
    action: str
    clusters: frozenset[str]
    opens: int
    closes: int

    def text(self, number: int) -> str:
        return (
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: Maintenance\nmetadata: {name:"
            f" m{number}}}\nspec:\n"
            f"  action: {self.action}\n  clusters: [{', '.join(sorted(self.clusters))}]\n"
            f'  start: "2040-01-01T{self.opens:02}:00:00Z"\n  end:'
            f' "2040-01-01T{self.closes:02}:00:00Z"\n'
        )


windows = st.builds(
    lambda action, clusters, opens, hours: Window(action, clusters, opens, opens + hours),
    st.sampled_from(["Drain", "Drain", "Cordon", "Freeze"]),
    st.frozensets(st.sampled_from(CLUSTERS), min_size=1, max_size=2),
    st.sampled_from([0, 0, 0, 1, 2, 5]),
    st.integers(1, 4),
)


def strands(group: frozenset[int], fleet: list[Window], wanted: int) -> bool:
    taken = frozenset[str]().union(*(fleet[each].clusters for each in group))
    return bool(group) and len(CLUSTERS) - len(taken) < wanted


def told(fleet: list[Window], wanted: int) -> list[frozenset[int]]:
    """The windows of each finding."""
    found = findings(
        settings=PACED,
        clusters=INVENTORY,
        apps=APP.replace("numberOfClusters: 1", f"numberOfClusters: {wanted}"),
        config="---\n".join(window.text(number) for number, window in enumerate(fleet)),
    )
    groups = []
    for item in found:
        if item.code == "DSF354":
            # Each document has nine lines with its marker.
            assert item.message.endswith("too few eligible clusters are left for web")
            others = re.findall(r"\bm([0-9])\b", item.message)
            groups.append(frozenset({(item.position.line - 1) // 9, *map(int, others)}))
    return groups


@examples(40, soak=2000)
@given(fleet=st.lists(windows, min_size=1, max_size=6), wanted=st.integers(1, 4))
def test_the_smallest_sets_of_windows_that_strand_an_application_are_told(
    fleet: list[Window], wanted: int
) -> None:
    at_once = {
        frozenset(
            number
            for number, window in enumerate(fleet)
            if window.opens <= hour < window.closes and window.action != "Freeze"
        )
        for hour in range(24)
    }
    groups = told(fleet, wanted)
    assert len(set(groups)) == len(groups)
    for group in groups:
        assert any(group <= together for together in at_once), "they are never open at once"
        assert strands(group, fleet, wanted)
        assert not any(
            strands(frozenset(fewer), fleet, wanted)
            for size in range(1, len(group))
            for fewer in combinations(group, size)
        ), "fewer windows strand it, too"
    # Whoever ends the told sets is told the next ones.
    for together in at_once:
        if not any(together < more for more in at_once) and strands(together, fleet, wanted):
            assert any(group <= together for group in groups), "nobody says so"
