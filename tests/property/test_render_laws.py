"""Laws of the generator, over generated fleet repositories.

Aspects covered: independence of files and their order; of locale, time zone and hash seed; idempotence;
locality of a change; what a spoke reads is what was planned; one object per identity.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from dsf_wire.constants import CONFIGMAP_KEY
from dsf_wire.summary import decode
from gitops_dsf.output.changes import compare
from gitops_dsf.output.write import write as write_tree
from gitops_dsf.pipeline import Rendered, produce
from gitops_dsf.render import RenderedTree
from gitops_dsf.render.objects import identity
from tests.support import fleets, yamlfast
from tests.support.fleets import FleetSources
from tests.support.laws import examples

PLACE = re.compile(r"[\w./-]+\.ya?ml:\d+:\d+")
LAW = examples(12)
LAYOUTS = st.none() | st.integers(0, 2**32)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def rendered(sources: FleetSources, *, layout: int | None = None) -> Rendered:
    with folder() as root:
        result = produce(fleets.write(root / "fleet", sources, layout=layout))
    assert result.tree is not None, result.diagnostics
    return result


def tree_of(sources: FleetSources, *, layout: int | None = None) -> dict[str, bytes]:
    return content(rendered(sources, layout=layout).tree)


def content(tree: RenderedTree | None) -> dict[str, bytes]:
    assert tree is not None
    return {path: tree.read(path) for path in tree.files}


def on_disk(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def differing(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def objects(tree: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    return {path: yamlfast.load(data) for path, data in tree.items() if path.endswith(".yaml")}


@LAW
@given(fleets.fleets(modes=("ManifestWork", "UpstreamController")), LAYOUTS, LAYOUTS)
def test_files_and_their_order_carry_no_meaning(
    sources: FleetSources, first: int | None, second: int | None
) -> None:
    one, other = rendered(sources, layout=first), rendered(sources, layout=second)
    assert content(one.tree) == content(other.tree)
    assert said(one) == said(other)


def said(result: Rendered) -> list[tuple[str, str]]:
    """Findings without the places, which differ with the files."""
    return sorted((item.code, PLACE.sub("there", item.message)) for item in result.diagnostics)


@pytest.mark.parametrize(
    "surroundings",
    [
        {"LC_ALL": "C", "TZ": "America/St_Johns", "PYTHONHASHSEED": "1"},
        {
            "LC_ALL": "tr_TR.UTF-8",
            "LANG": "tr_TR.UTF-8",
            "TZ": "Pacific/Kiritimati",
            "PYTHONHASHSEED": "4294967295",
            "PYTHONUTF8": "0",
        },
        {
            "LC_ALL": "POSIX",
            "TZ": "UTC",
            "PYTHONHASHSEED": "random",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONUTF8": "0",
            "COLUMNS": "20",
        },
    ],
    ids=lambda surroundings: surroundings["LC_ALL"],
)
@settings(examples(1), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sources=fleets.fleets(), layout=st.integers(0, 2**32))
def test_the_surroundings_carry_no_meaning(
    sources: FleetSources, layout: int, surroundings: dict[str, str]
) -> None:
    expected = tree_of(sources, layout=layout)
    with folder() as root:
        fleet, out = fleets.write(root / "Flotte zürich", sources, layout=layout), root / "out"
        command = [sys.executable, "-m", "gitops_dsf", "render", str(fleet), "--out", str(out)]
        environment = {"PATH": os.environ["PATH"], **surroundings}
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert on_disk(out) == expected


@LAW
@given(
    fleets.fleets(modes=("ManifestWork", "UpstreamController")),
    fleets.fleets(modes=("ManifestWork", "UpstreamController")),
)
def test_after_a_render_there_is_nothing_left_to_do(before: FleetSources, after: FleetSources) -> None:
    with folder() as out:
        for sources in (before, after):
            tree = rendered(sources).tree
            assert tree is not None
            write_tree(tree, out, compare(tree, out))
            changes = compare(tree, out)
            assert (changes.is_clean, changes.foreign, changes.blocked) == (True, (), ())
            assert on_disk(out) == content(tree)


@LAW
@given(fleets.fleets(), fleets.DNS_LABELS)
def test_a_new_cluster_changes_its_own_files_alone(sources: FleetSources, name: str) -> None:
    assume(name not in sources.names("ManagedCluster"))
    before = tree_of(sources)
    after = tree_of(sources.with_documents(fleets.cluster(name, tier="dev")))
    files = {
        path for path in after if path.startswith("works-") and Path(path).name.partition(".")[0] == name
    }
    assert {Path(path).name for path in files} >= {
        f"{name}.manifestwork.yaml",
        f"{name}.managedclusteraddon.yaml",
    }
    assert differing(before, after) == {*files, "INVENTORY"}


@LAW
@given(fleets.fleets(), st.data())
def test_a_removed_scorer_changes_the_works_that_carried_it(
    sources: FleetSources, data: st.DataObject
) -> None:
    rankings = (*sources.of("ScoredApplication"), *sources.of("ScoredPlacement"))
    used = {score["scorer"] for item in rankings for score in item["spec"].get("scores", ())}
    unused = sorted(set(sources.names("DynamicScorer")) - used)
    assume(unused)
    gone = data.draw(st.sampled_from(unused))
    before = rendered(sources)
    assert before.plan is not None
    carried = {
        f"works-{work.shard:02d}/{work.cluster}.manifestwork.yaml"
        for work in before.plan.works
        if gone in {summary.name for summary in work.configuration.summaries}
    }
    left = sources.without_scorer(gone)
    unmasked = left.of("DynamicScoringConfig") != sources.of("DynamicScoringConfig")
    masks = {"platform/configmap.gitops-dsf-masks.yaml"} if unmasked else set()
    assert differing(content(before.tree), tree_of(left)) == {
        *carried,
        f"platform/dynamicscorer.{gone}.yaml",
        # It names the scores that agents may write.
        "platform/validatingadmissionpolicy.gitops-dsf-agent-scores.yaml",
        "INVENTORY",
        *masks,
    }


@LAW
@given(fleets.fleets())
def test_a_spoke_reads_what_was_planned(sources: FleetSources) -> None:
    """Read by a YAML 1.1 parser, as kubectl and Argo CD are, and by a YAML 1.2 parser."""
    result = rendered(sources)
    assert result.tree is not None
    assert result.plan is not None
    assert {work.cluster for work in result.plan.works} == set(sources.names("ManagedCluster"))
    for work in result.plan.works:
        text = result.tree.read(f"works-{work.shard:02d}/{work.cluster}.manifestwork.yaml").decode()
        for loaded in (yamlfast.load(text), YAML(typ="safe", pure=True).load(StringIO(text))):
            assert loaded["metadata"]["namespace"] == work.cluster
            (config,) = (
                item for item in loaded["spec"]["workload"]["manifests"] if item["kind"] == "ConfigMap"
            )
            decoded = decode(config["data"][CONFIGMAP_KEY])
            assert decoded.problems == ()
            assert decoded.summaries == work.configuration.summaries


@LAW
@given(fleets.fleets())
def test_an_agent_may_read_what_its_scorers_count(sources: FleetSources) -> None:
    """Nodes and pods where a scorer counts them, usage where one uses it, and nothing elsewhere."""
    result = rendered(sources)
    assert result.tree is not None
    assert result.plan is not None
    for work in result.plan.works:
        queries = [
            item.source_query for item in work.configuration.summaries if item.source_type == "Kubernetes"
        ]
        wanted = {"nodes", "pods"} if queries else set[str]()
        groups = {""} if queries else set[str]()
        if any("_used_" in query for query in queries):
            groups.add("metrics.k8s.io")
        text = result.tree.read(f"works-{work.shard:02d}/{work.cluster}.manifestwork.yaml").decode()
        manifests = yamlfast.load(text)["spec"]["workload"]["manifests"]
        rules = [rule for item in manifests if item["kind"] == "ClusterRole" for rule in item["rules"]]
        assert {resource for rule in rules for resource in rule["resources"]} == wanted
        assert {group for rule in rules for group in rule["apiGroups"]} == groups


@LAW
@given(fleets.fleets())
def test_arguments_arrive_as_they_were_written(sources: FleetSources) -> None:
    """Nulls, empty values and every character included: in the spokes' summaries and in the custom
    resource.
    """
    result = rendered(sources)
    assert result.plan is not None
    written = {
        fleets.name(item): item["spec"]["scoring"].get("arguments") for item in sources.of("DynamicScorer")
    }
    carried = {
        item.name: item.scoring_arguments
        for work in result.plan.works
        for item in work.configuration.summaries
    }
    assert carried == {name: written[name] for name in carried}
    for item in objects(content(result.tree)).values():
        if item["kind"] == "DynamicScorer":
            assert item["spec"]["scoring"].get("arguments") == written[item["metadata"]["name"]]


@LAW
@given(fleets.fleets(modes=("ManifestWork", "UpstreamController")))
def test_no_object_is_rendered_twice(sources: FleetSources) -> None:
    tree = tree_of(sources)
    identities = [identity(item) for item in objects(tree).values()]
    assert len(identities) == len(set(identities))
    assert len({path.lower() for path in tree}) == len(tree), (
        "two files that a case-insensitive file system would take for one"
    )


@LAW
@given(fleets.fleets(modes=("UpstreamController",)))
def test_what_upstream_accepts_is_accepted(sources: FleetSources) -> None:
    """Scorers with upstream's fields alone render in both worlds, and to the same values."""
    settings = {
        **sources.settings,
        "spec": {**sources.settings["spec"], "delivery": {"mode": "ManifestWork"}},
    }
    ours = FleetSources(settings=settings, documents=sources.documents)
    upstream_specs, our_specs = specs(tree_of(sources)), specs(tree_of(ours))
    assert upstream_specs.keys() == our_specs.keys() == set(sources.names("DynamicScorer"))
    for name, spec in upstream_specs.items():
        assert {field: our_specs[name][field] for field in spec} == spec


def specs(tree: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    return {
        item["metadata"]["name"]: item["spec"]
        for item in objects(tree).values()
        if item["kind"] == "DynamicScorer"
    }
