"""A repository with every field and every byte that it renders to, and one for upstream.

`make golden` writes what the generator says now; review the diff. Two more repositories render
without findings, to objects that are known.
"""

import difflib
import json
import shutil
from pathlib import Path

import pytest

from gitops_dsf.cli.template import repo_template
from gitops_dsf.pipeline import produce
from tests.support import yamlfast
from tests.support.rendering import objects
from tests.support.upstream import REPOSITORY, samples

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        # A stickiness of 0, and maintenance of one of three.
        ("everything", ["DSF318", "DSF354", "DSF354"]),
        # With delivery.mode UpstreamController.
        ("upstream-controller", []),
    ],
)
def test_a_repository_renders_to_its_golden_tree(
    name: str, codes: list[str], update_golden: bool
) -> None:
    result = produce(HERE / name / "repo")
    assert [item.code for item in result.diagnostics] == codes
    assert result.tree is not None
    expected = HERE / name / "expected"
    actual = {path: result.tree.read(path).decode() for path in result.tree.files}
    if update_golden:
        shutil.rmtree(expected, ignore_errors=True)
        for path, text in actual.items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_text(text, encoding="utf-8")
    golden = {
        path.relative_to(expected).as_posix(): path.read_text(encoding="utf-8")
        for path in expected.rglob("*")
        if path.is_file()
    }
    assert _difference(golden, actual) == "", (
        "the rendered tree changed: review it, then run `make golden`"
    )


def _difference(golden: dict[str, str], actual: dict[str, str]) -> str:
    lines: list[str] = []
    for path in sorted(golden.keys() | actual.keys()):
        before, after = golden.get(path, ""), actual.get(path, "")
        if before != after:
            lines += difflib.unified_diff(
                before.splitlines(),
                after.splitlines(),
                f"golden/{path}",
                f"rendered/{path}",
                lineterm="",
            )
    return "\n".join(lines)


def test_the_template_renders_an_application_and_a_work_for_each_cluster() -> None:
    result = produce(repo_template())
    assert [item.code for item in result.diagnostics] == ["DSF191", "DSF175"], (
        "no registry, an example URL"
    )
    found = objects(result)
    clusters = {
        item["metadata"]["namespace"] for item in found.values() if item["kind"] == "ManifestWork"
    }
    assert clusters == {"eu-north-1", "eu-west-1"}
    assert {path for path in found if "guestbook" in path} == {
        "delivery/applicationset.guestbook.yaml",
        "delivery/placement.guestbook.yaml",
    }
    assert found["platform/dynamicscorer.cpu-headroom.yaml"]["spec"]["scoring"]["type"] == "Query"


def test_for_upstreams_controller_its_own_resources_are_rendered_as_they_are() -> None:
    """Upstream's samples: six of seven scorers say the rest on /config, which its controller
    reads.
    """
    result = produce(REPOSITORY)
    assert result.diagnostics == ()
    found = objects(result)
    scorers = {
        item["metadata"]["name"]: item for item in found.values() if item["kind"] == "DynamicScorer"
    }
    for sample in samples():
        spec = scorers.pop(sample["metadata"]["name"])["spec"]
        assert spec["location"] in {"Internal", "External"}
        assert spec["scoreDestination"] == "AddOnPlacementScore"
        assert spec.keys().isdisjoint({"suspend", "scoreAggregation", "scoreTTLSeconds", "publish"})
        for key, written in sample["spec"].items():
            kept = (
                {name: spec[key][name] for name in written}
                if isinstance(written, dict)
                else spec[key]
            )
            assert kept == written, key
    assert scorers == {}
    (masks,) = (item for item in found.values() if item["kind"] == "DynamicScoringConfig")
    assert (
        masks["spec"]
        == yamlfast.load((REPOSITORY / "config/masks.yaml").read_text("utf-8"))["spec"]
    )
    assert {path.partition("/")[0] for path in found} == {
        *("argocd", "platform", "delivery", "reconciler")
    }
    assert {item["kind"] for path, item in found.items() if not path.startswith("reconciler/")} == {
        *("Application", "AppProject", "Namespace", "DynamicScorer", "DynamicScoringConfig"),
        *("ConfigMap", "Role", "RoleBinding"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    }
    index = json.loads(found["platform/configmap.gitops-dsf-scorers.yaml"]["data"]["index"])
    assert (index["crds"], index["mode"]) == ("Existing", "UpstreamController")
    assert index["scorers"].keys() == {"llm-forecast-scorer"}, "the one that says everything itself"
