"""A law of `import`, for whatever text a hub has.

It writes the text as YAML that says the same, also into an existing file.

A spoke chooses the values of its ClusterClaims itself, and OCM checks no more than their length.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.importer.take import take
from gitops_dsf.repository.files import write_files
from gitops_dsf.repository.sources import load
from tests.support.laws import examples

EVERYTHING = ImportSelection(claims=("*",), resources=True)
ODD = st.sampled_from(
    [
        "\x00",
        "\x07",
        "\x1b",
        "\x7f",
        "\x85",
        "\x9f",
        "\xa0",
        "\u2028",
        "\ufeff",
        "\ufffe",
        "\t",
        "\r",
        "\n",
        "\n\n",
        "#",
        ":",
        "-",
        "---",
        "...",
        "%Y",
        "?",
        "&",
        "*",
        "!",
        "|",
        ">",
        "'",
        '"',
        "\\",
        "=",
        "<<",
    ]
)
PIECES = st.one_of(
    ODD, st.sampled_from(["", " ", "a", "null", "1e3", "0x1", "yes"]), st.characters()
)
TEXTS = st.builds(
    str.join, st.sampled_from(["", "\n", "a\nb"]), st.lists(PIECES, min_size=1, max_size=5)
)


def managed_cluster(claim: str, taint: str, *, more: str) -> dict[str, Any]:
    claims = [
        {"name": "region.open-cluster-management.io", "value": claim},
        {"name": f"x{claim}", "value": "of that name"},
    ]
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "ber-1", "labels": {"tier": f"gold{more}"}},
        "spec": {
            "hubAcceptsClient": True,
            "taints": [{"key": f"k{taint}", "value": f"v{taint}", "effect": "NoSelect"}],
        },
        "status": {"clusterClaims": claims, "allocatable": {f"r{taint}": claim}},
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("texts") / "fleet"
    scaffold(target=root, name="fleet", extras=("examples",))
    return root


def written(root: Path) -> dict[str, Any]:
    loaded = load(root)
    assert [item for item in loaded.diagnostics if item.severity.name == "ERROR"] == []
    [found] = [item.data for item in loaded.documents if item.name == "ber-1"]
    return found


@examples(4, soak=400)
@example(first="a\nb\x00c", second="a\x07\nb", taint="a\nb\u2028c")
@example(first="plain", second="a\nb\rc", taint="x\x85y")
@given(first=TEXTS, second=TEXTS, taint=TEXTS)
def test_what_is_written_says_the_same(fleet: Path, first: str, second: str, taint: str) -> None:
    """Into a new file, into one that is edited, and where the value stays and another one
    changes.
    """
    (fleet / "clusters/ber-1.yaml").unlink(missing_ok=True)
    for claim, more in ((first, ""), (second, ""), (second, "-2")):
        wanted = managed_cluster(claim, taint, more=more)
        write_files(fleet, take(fleet, [wanted], selection=EVERYTHING).files)
        found = written(fleet)
        assert found["spec"]["taints"] == wanted["spec"]["taints"]
        claims = {item["name"]: item["value"] for item in wanted["status"]["clusterClaims"]}
        assert {item["name"]: item["value"] for item in found["status"]["clusterClaims"]} == claims
        assert found["status"]["allocatable"] == wanted["status"]["allocatable"]
        assert take(fleet, [wanted], selection=EVERYTHING).files == {}
