"""Laws of the generator, over generated fleet repositories.

Aspects covered: independence of files and their order; of locale, time zone and hash seed;
idempotence; locality of a change; what a spoke reads is what was planned; one object per identity.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from dsf_wire import clusters
from dsf_wire.constants import CLUSTERS_KEY, CONFIGMAP_KEY, CONFIGMAP_NAME
from dsf_wire.summary import decode
from gitops_dsf.output import compare
from gitops_dsf.output import write as write_tree
from gitops_dsf.pipeline import RenderResult, produce
from gitops_dsf.render.objects import _MANIFESTS, _templates
from gitops_dsf.render.tree import RenderedTree
from tests.support import fleets, yamlfast
from tests.support.fleets import FleetSources
from tests.support.laws import examples
from tests.support.rendering import identity

PLACE = re.compile(r"[\w./-]+\.ya?ml:\d+:\d+")
LAW = examples(5, soak=160)
HUB_CLUSTERS = "reconciler/configmap.gitops-dsf-hub-scorer.yaml"
"""It lists the clusters."""
LAYOUTS = st.none() | st.integers(0, 2**32)


@pytest.fixture(scope="module", autouse=True)
def manifests_stay() -> Iterator[None]:
    """Rendered objects share parts of the files in manifests/, so no code may change them."""
    read = {path.name: deepcopy(_templates(path.name)) for path in _MANIFESTS.iterdir()}
    yield
    for file, templates in read.items():
        assert _templates(file) == templates, file


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def rendered(sources: FleetSources, *, layout: int | None = None) -> RenderResult:
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
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
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


def said(result: RenderResult) -> list[tuple[str, str]]:
    """Findings without the places, which differ with the files."""
    return sorted((item.code, PLACE.sub("there", item.message)) for item in result.diagnostics)


@pytest.mark.parametrize(
    "surroundings",
    [
        {"LC_ALL": "C", "TZ": "America/St_Johns", "PYTHONHASHSEED": "1", "COLUMNS": "20"},
        {
            "LC_ALL": "tr_TR.UTF-8",
            "TZ": "Pacific/Kiritimati",
            "PYTHONHASHSEED": "2",
            "PYTHONUTF8": "0",
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
def test_after_a_render_there_is_nothing_left_to_do(
    before: FleetSources, after: FleetSources
) -> None:
    with folder() as out:
        for sources in (before, after):
            tree = rendered(sources).tree
            assert tree is not None
            write_tree(tree, out, compare(tree, out))
            changes = compare(tree, out)
            assert (changes.is_clean, changes.foreign, changes.blocked) == (True, (), ())
            assert on_disk(out) == content(tree)


def files_of(cluster: str, tree: Iterable[str]) -> set[str]:
    """The files of a cluster in the works directories."""
    return {
        path
        for path in tree
        if path.startswith("works-") and Path(path).name.partition(".")[0] == cluster
    }


def moved_agents(before: RenderResult, after: RenderResult) -> set[str]:
    """Files about the agents of clusters whose agents come or go, or have other parts."""
    parts = [
        {work.cluster: work.addon for work in result.fleet.works} for result in (before, after)
    ]
    paths = {*content(before.tree), *content(after.tree)}
    found = set()
    for cluster in parts[0].keys() | parts[1].keys():
        if parts[0].keys() & parts[1].keys() >= {cluster}:
            kinds = ("managedclusteraddon",) if parts[0][cluster] != parts[1][cluster] else ()
        else:
            kinds = ("managedclusteraddon", "manifestwork", "rolebinding")
        found |= {
            path
            for path in files_of(cluster, paths)
            if path.endswith(tuple(f"/{cluster}.{kind}.yaml" for kind in kinds))
        }
    return found


def templates(before: RenderResult, after: RenderResult) -> set[str]:
    """AddOnTemplates that some cluster needs in one of the trees only."""
    paths = [
        {path for path in content(result.tree) if path.startswith("platform/addontemplate.")}
        for result in (before, after)
    ]
    return paths[0] ^ paths[1]


@LAW
@given(fleets.fleets(), fleets.DNS_LABELS)
def test_a_new_cluster_changes_its_own_files_alone(sources: FleetSources, name: str) -> None:
    assume(name not in sources.names("ManagedCluster"))
    grown = sources.with_documents(fleets.cluster(name, tier="dev"))
    before, after = rendered(sources), rendered(grown)
    files = files_of(name, content(after.tree))
    wanted = set()
    if name in with_agents(grown):
        wanted |= {f"{name}.manifestwork.yaml", f"{name}.managedclusteraddon.yaml"}
    hub_scorers = any(map(fleets.on_hub, grown.of("DynamicScorer")))
    if hub_scorers:
        wanted |= {f"{name}.hubscorer.rolebinding.yaml"}
    assert {Path(path).name for path in files} >= wanted
    listed = {HUB_CLUSTERS} if hub_scorers else set()
    assert differing(content(before.tree), content(after.tree)) == {
        *files,
        *listed,
        *templates(before, after),
        "INVENTORY",
    }


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
    assert before.fleet is not None
    carried = {
        f"works-{work.shard:02d}/{work.cluster}.manifestwork.yaml"
        for work in before.fleet.works
        if gone in {summary.name for summary in work.configuration.summaries}
    }
    left = sources.without_scorer(gone)
    after = rendered(left)
    unmasked = left.of("DynamicScoringConfig") != sources.of("DynamicScoringConfig")
    masks = {"platform/configmap.gitops-dsf-masks.yaml"} if unmasked else set()
    changed = differing(content(before.tree), content(after.tree))
    of_hub_scorer = {path for path in changed if "hub-scorer" in path or ".hubscorer." in path}
    hub_scorers = [fleets.name(item) for item in sources.of("DynamicScorer") if fleets.on_hub(item)]
    assert bool(of_hub_scorer) is bool(hub_scorers)
    # It names the scores that agents may write, and says whether other scores are written on the
    # hub.
    policy = (
        {"platform/validatingadmissionpolicy.gitops-dsf-agent-scores.yaml"}
        if gone not in hub_scorers or hub_scorers == [gone]
        else set()
    )
    # The list for the reconciler: the index, and the one part that so few scorers need.
    listed = {path for path in content(before.tree) if "configmap.gitops-dsf-scorers" in path}
    assert changed - of_hub_scorer == {
        *carried,
        *moved_agents(before, after),
        *templates(before, after),
        f"platform/dynamicscorer.{gone}.yaml",
        *listed,
        *policy,
        "INVENTORY",
        *masks,
    }


@LAW
@given(fleets.fleets())
def test_a_spoke_reads_what_was_planned(sources: FleetSources) -> None:
    """Read by a YAML 1.1 parser, as kubectl and Argo CD are, and by a YAML 1.2 parser."""
    result = rendered(sources)
    assert result.tree is not None
    assert result.fleet is not None
    assert {work.cluster for work in result.fleet.works} == with_agents(sources)
    for work in result.fleet.works:
        text = result.tree.read(f"works-{work.shard:02d}/{work.cluster}.manifestwork.yaml").decode()
        for loaded in (yamlfast.load(text), YAML(typ="safe", pure=True).load(StringIO(text))):
            assert loaded["metadata"]["namespace"] == work.cluster
            (config,) = (
                item
                for item in loaded["spec"]["workload"]["manifests"]
                if item["kind"] == "ConfigMap" and item["metadata"]["name"] == CONFIGMAP_NAME
            )
            decoded = decode(config["data"][CONFIGMAP_KEY])
            assert decoded.problems == ()
            assert decoded.summaries == work.configuration.summaries


@LAW
@given(fleets.fleets())
def test_the_hub_scorer_reads_what_was_planned(sources: FleetSources) -> None:
    """The scorers of every cluster, with what its series are recognised by."""
    result = rendered(sources)
    assert result.tree is not None
    scorers = {
        fleets.name(item): item["spec"]
        for item in sources.of("DynamicScorer")
        if fleets.on_hub(item)
    }
    assert (HUB_CLUSTERS in result.tree.files) is bool(scorers)
    if not scorers:
        return
    data = yamlfast.load(result.tree.read(HUB_CLUSTERS).decode())["data"]
    decoded = decode(data[CONFIGMAP_KEY])
    assert decoded.problems == ()
    assert {item.name for item in decoded.summaries} == {
        name for name, spec in scorers.items() if not spec.get("suspend")
    }
    masked = {
        (mask["clusterName"], mask["scoreName"])
        for item in sources.of("DynamicScoringConfig")
        for mask in item["spec"]["masks"]
    }
    fleet = clusters.decode(data[CLUSTERS_KEY])
    assert {item.name: set(item.scorers) for item in fleet} == {
        fleets.name(cluster): {
            name
            for name, spec in scorers.items()
            if not spec.get("suspend")
            and selects(spec, cluster)
            and (fleets.name(cluster), spec["scoring"]["params"]["name"]) not in masked
        }
        for cluster in sources.of("ManagedCluster")
    }
    identities = {"label:clusterID": "id-{}", "claim:id.k8s.io": "claim of {}"}
    for item in fleet:
        assert item.values == {key: identities[key].format(item.name) for key in item.values}


def selects(spec: dict[str, Any], cluster: fleets.Object) -> bool:
    """Whether a scorer's clusterSelector selects a cluster."""
    wanted = spec.get("clusterSelector", {}).get("matchLabels", {})
    return wanted.items() <= cluster["metadata"]["labels"].items()


def with_agents(sources: FleetSources) -> set[str]:
    """All clusters but those that only scorers on the hub select."""
    scorers = sources.of("DynamicScorer")
    return {
        fleets.name(cluster)
        for cluster in sources.of("ManagedCluster")
        if {fleets.on_hub(item) for item in scorers if selects(item["spec"], cluster)} != {True}
    }


@LAW
@given(fleets.fleets())
def test_arguments_arrive_as_they_were_written(sources: FleetSources) -> None:
    """Nulls, empty values and every character included: in the spokes' summaries and in the custom
    resource.
    """
    result = rendered(sources)
    assert result.fleet is not None
    written = {
        fleets.name(item): item["spec"]["scoring"].get("arguments")
        for item in sources.of("DynamicScorer")
    }
    carried = {
        item.name: item.scoring_arguments
        for work in result.fleet.works
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
