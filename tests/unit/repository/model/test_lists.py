"""One item where a list is wanted: the hint says how to write a list of it."""

import pytest

from tests.support.repositories import findings_of

APP = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: web}
spec:
  application:
    source: {repoURL: "https://git.example.com/web.git", path: deploy}
    destinationNamespace: web
  placement: {numberOfClusters: 1, clusterSets: [global]}
  scores: [{scorer: cpu}]
  moves: {verify: []}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "hint"),
    [
        ("[global]", "global", 'write ["global"]: clusterSets is a list'),
        (
            "{verify: []}",
            "\n    verify:\n      scorer: slo\n      atLeast: 80",
            'begin each item of verify with "- ", as in "- scorer: ..."',
        ),
        (
            "[{scorer: cpu}]",
            "{scorer: cpu, weight: 2}",
            'begin each item of scores with "- ", as in "- scorer: ..."',
        ),
    ],
)
def test_one_item_in_place_of_a_list(right: str, wrong: str, hint: str) -> None:
    text = APP.replace(right, wrong)
    assert [item.hint for item in findings_of("DSF015", apps=text)] == [hint]


@pytest.mark.parametrize(
    ("right", "wrong", "hint"),
    [
        # Not one name: nobody knows how many items are meant.
        ("[global]", '"global, edge"', "clusterSets: ManagedClusterSets to choose from"),
        # A text is not an item of a list of objects, and neither is an object with other fields.
        ("[{scorer: cpu}]", "cpu", "scores: "),
        ("[{scorer: cpu}]", "{cpu: 2}", "scores: "),
        ("[global]", "{name: global}", "clusterSets: ManagedClusterSets to choose from"),
    ],
)
def test_what_is_no_item_of_the_list_gets_its_description(
    right: str, wrong: str, hint: str
) -> None:
    text = APP.replace(right, wrong)
    [found] = [item.hint for item in findings_of("DSF015", apps=text)]
    assert found.startswith(hint)
