"""schemas/ and docs/reference/fields/ against the models.

They are what the models say now, and each says yes and no where the models do.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from pydantic import ValidationError

from dsf_wire.summary import (
    UPSTREAM_KEYS,
    BasicAuth,
    ClientCertificate,
    ConfigMapRef,
    EndpointAuth,
    Header,
    PublishRule,
    ScoreRange,
    ScorerSummary,
    SecretRef,
    decode,
    encode,
)
from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.cli.schema import schema_tree
from gitops_dsf.pipeline import produce
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.schema.editor import bundle, kind_file
from tests.support import yamlfast
from tools.reference import kept_pages

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schemas"
TEMPLATE = ROOT / "repo-template"
ROOTS = (TEMPLATE, TEMPLATE / "on-request/examples")
EXAMPLE_FLEET = ROOT / "examples/fleet"
FOLDERS = ("scorers", "config", "clusters", "apps", "locks", "tests")


def stale(generated: Mapping[str, str], folder: Path) -> list[str]:
    """Paths whose file differs, is missing, or that nothing generates any more."""
    found = {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }
    return sorted(
        path for path in generated.keys() | found.keys() if generated.get(path) != found.get(path)
    )


@pytest.mark.parametrize(
    ("generated", "folder"),
    [(schema_tree, SCHEMAS), (kept_pages, ROOT / "docs" / "reference" / "fields")],
    ids=["schemas", "reference"],
)
def test_generated_files_are_fresh(
    generated: Callable[[], Mapping[str, str]], folder: Path
) -> None:
    assert not stale(generated(), folder), (
        f"{folder.relative_to(ROOT)}/ is stale: run `make schemas` and commit what it changes"
    )


def test_every_authored_kind_has_a_schema() -> None:
    assert {kind_file(*key) for key in KINDS} | {"document.json"} == {
        path.name for path in (SCHEMAS / "json").iterdir()
    }


@cache
def bundled() -> Draft202012Validator:
    """The one file that editors of a fleet repository read."""
    return Draft202012Validator(json.loads(bundle()))


def examples() -> list[Any]:
    files = [
        TEMPLATE / "gitops-dsf.yaml",
        *(
            path
            for root in ROOTS
            for folder in FOLDERS
            for path in sorted((root / folder).glob("*.yaml"))
        ),
        EXAMPLE_FLEET / "apps/training.yaml",
    ]
    documents = [
        (path, document)
        for path in files
        for document in yamlfast.load_all(path.read_text("utf-8"))
    ]
    return [
        pytest.param(
            document,
            id=f"{path.relative_to(ROOT)}-{document['kind']}-{document['metadata']['name']}",
        )
        for path, document in documents
    ]


@pytest.mark.parametrize("document", examples())
def test_the_examples_satisfy_the_schemas(document: dict[str, Any]) -> None:
    bundled().validate(document)
    kind = kind_file(document["apiVersion"], document["kind"])
    Draft202012Validator(json.loads((SCHEMAS / "json" / kind).read_text("utf-8"))).validate(
        document
    )


def test_the_examples_show_every_kind() -> None:
    shown = {(param.values[0]["apiVersion"], param.values[0]["kind"]) for param in examples()}
    assert shown == set(KINDS)


SCORER = {
    "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
    "kind": "DynamicScorer",
    "metadata": {"name": "cpu"},
    "spec": {"description": "d", "configURL": "http://api/config", "configSyncMode": "None"},
}
APPLICATION = {
    "apiVersion": "gitops-dsf.io/v1alpha1",
    "kind": "ScoredApplication",
    "metadata": {"name": "web"},
    "spec": {
        "application": {
            "source": {"repoURL": "https://git/x", "path": "."},
            "destinationNamespace": "web",
        },
        "scores": [{"scorer": "cpu"}],
    },
}
SHARED = {
    "apiVersion": "gitops-dsf.io/v1alpha1",
    "kind": "ScoredPlacement",
    "metadata": {"name": "shared"},
    "spec": {"scores": [{"scorer": "cpu"}]},
}
CONFIG = {
    "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
    "kind": "DynamicScoringConfig",
    "metadata": {"name": "dynamic-scoring-config"},
    "spec": {"masks": []},
}


SOURCE = {
    "apiVersion": "gitops-dsf.io/v1alpha1",
    "kind": "MetricSource",
    "metadata": {"name": "platform"},
    "spec": {"variants": [{"host": "http://prometheus.svc"}]},
}


def variant(**fields: Any) -> dict[str, Any]:
    return change(SOURCE, "spec.variants", [{"host": "http://prometheus.svc", **fields}])


def change(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the document with one field set."""
    result: dict[str, Any] = json.loads(json.dumps(document))
    *parents, last = path.split(".")
    node = result
    for name in parents:
        node = node.setdefault(name, {})
    node[last] = value
    return result


TEST = {
    "apiVersion": "gitops-dsf.io/v1alpha1",
    "kind": "ScoreTest",
    "metadata": {"name": "web"},
    "spec": {
        "given": {"series": [{"scorer": "cpu", "cluster": "a", "values": "1 2"}]},
        "expect": {"decisions": [{"at": "1m", "application": "web", "clusters": ["a"]}]},
    },
}


def expect(kind: str, **fields: Any) -> dict[str, Any]:
    return change(TEST, "spec.expect", {kind: [fields]})


SECRET = {"name": "tokens", "key": "token"}
ACCEPTED = [
    change(SCORER, "spec.source.auth", {"tokenSecretRef": SECRET, "serviceAccountToken": False}),
    change(SCORER, "spec.source.auth", {"tokenSecretRef": None, "serviceAccountToken": True}),
    change(SCORER, "spec", {"description": "d", "scoring": {"type": "Query"}}),
    change(SCORER, "spec.scoring.arguments", {"any": [{"thing": None}]}),
    change(CONFIG, "spec.masks", [{"clusterName": "a", "scoreName": "b"}]),
    change(CONFIG, "spec.masks", [{"clusterSelector": {}, "scoreName": "b"}]),
    change(CONFIG, "spec.masks", [{"clusterName": "a", "clusterSelector": None, "scoreName": "b"}]),
    change(APPLICATION, "spec.application.sources", []),
    change(APPLICATION, "spec.placement.tolerations", [{"key": "a", "value": "b"}]),
    change(APPLICATION, "spec.placement.tolerations", [{"operator": "Exists"}]),
    change(SHARED, "spec.placement.decisionGroups", {"clustersPerDecisionGroup": "25%"}),
    change(SHARED, "spec.placement.decisionGroups", {"clustersPerDecisionGroup": 3}),
    variant(headers=[{"name": "A", "value": "b"}]),
    variant(headers=[{"name": "A", "secretRef": SECRET}]),
    variant(basicAuth={"secretRef": {"name": "a"}}, auth={"caConfigMapRef": SECRET}),
    TEST,
    expect("decisions", placement="argocd/web", clusters=[]),
    expect("scores", scorer="cpu", cluster="a", value=5),
    expect("scores", scorer="cpu", cluster="a", state="Expired"),
    expect("scores", resource="x", cluster="a", dimension="y", value=5),
    expect("scores", at="1h30m", scorer="cpu", cluster="a", value=5),
    expect("findings", code="DSF310"),
]
REFUSED = [
    change(SCORER, "spec.source.auth", {"tokenSecretRef": SECRET, "serviceAccountToken": True}),
    change(SCORER, "spec.unknown", 1),
    change(SCORER, "spec.configSyncMode", "full"),
    change(SCORER, "spec", {"description": "d"}),
    change(SCORER, "spec", {"description": "d", "scoring": {"type": "API"}}),
    change(SCORER, "spec.defaultScore", 101),
    change(SCORER, "spec.scoring.arguments", [1]),
    change(SCORER, "metadata.name", "Not_A_Name"),
    change(CONFIG, "spec.masks", [{"scoreName": "b"}]),
    change(CONFIG, "spec.masks", [{"clusterName": "a", "clusterSelector": {}, "scoreName": "b"}]),
    change(APPLICATION, "spec.application.source", None),
    change(APPLICATION, "spec.application.sources", [{"repoURL": "https://git/y"}]),
    change(APPLICATION, "spec.placement.tolerations", [{"value": "b"}]),
    change(
        APPLICATION,
        "spec.placement.tolerations",
        [{"key": "a", "operator": "Exists", "value": "b"}],
    ),
    change(SHARED, "spec.placement.decisionGroups", {"clustersPerDecisionGroup": "125%"}),
    change(APPLICATION, "spec.placement.decisionGroups", {"clustersPerDecisionGroup": "25%"}),
    change(APPLICATION, "spec.scores", []),
    variant(headers=[{"name": "A"}]),
    variant(headers=[{"name": "A", "value": "b", "secretRef": SECRET}]),
    variant(basicAuth={"secretRef": {"name": "a"}}, auth={"serviceAccountToken": True}),
    variant(basicAuth={"secretRef": {"name": "a"}}, auth={"tokenSecretRef": SECRET}),
    change(SOURCE, "spec.variants", []),
    change(TEST, "spec.expect", {}),
    change(TEST, "spec.expect", {"scores": [], "moves": []}),
    expect("decisions", application="web", placement="web", clusters=[]),
    expect("decisions", clusters=[]),
    expect("decisions", placement="a/b/c", clusters=[]),
    expect("moves", application="web", count=-1),
    expect("scores", scorer="cpu", cluster="a"),
    expect("scores", scorer="cpu", cluster="a", value=5, state="Missing"),
    expect("scores", resource="x", cluster="a", value=5),
    expect("scores", at="90", scorer="cpu", cluster="a", value=5),
    expect("findings", code="310"),
]


def model_accepts(document: dict[str, Any]) -> bool:
    try:
        KINDS[document["apiVersion"], document["kind"]].model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("document", "accepted"),
    [(item, True) for item in ACCEPTED] + [(item, False) for item in REFUSED],
)
def test_editor_and_model_agree(document: dict[str, Any], accepted: bool) -> None:
    assert model_accepts(document) is accepted
    assert bundled().is_valid(document) is accepted


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "DynamicScorer"},
        {**SCORER, "kind": "Deployment"},
        {**SCORER, "apiVersion": "gitops-dsf.io/v1alpha1"},
        [],
    ],
    ids=["no-apiVersion", "foreign-kind", "wrong-version", "list"],
)
def test_a_document_of_no_known_kind_is_refused(document: Any) -> None:
    assert not bundled().is_valid(document)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The objects of a rendered template."""
    root = tmp_path_factory.mktemp("fleet")
    scaffold(target=root, name="fleet", extras=("examples",))
    tree = produce(root).tree
    assert tree is not None
    texts = [
        b"".join(tree.files[path]).decode() for path in sorted(tree.files) if path.endswith(".yaml")
    ]
    return [yamlfast.load(text) for text in texts]


def test_rendered_crds_are_the_shipped_ones(rendered: list[dict[str, Any]]) -> None:
    shipped = {
        path.stem: yamlfast.load(path.read_text("utf-8"))["spec"]
        for path in (SCHEMAS / "crds").iterdir()
    }
    assert {
        item["metadata"]["name"]: item["spec"]
        for item in rendered
        if item["kind"] == "CustomResourceDefinition"
    } == shipped


def test_rendered_summaries_satisfy_their_schema(rendered: list[dict[str, Any]]) -> None:
    works = [item for item in rendered if item["kind"] == "ManifestWork"]
    assert len(works) == 3
    for work in works:
        (config,) = (
            item for item in work["spec"]["workload"]["manifests"] if item["kind"] == "ConfigMap"
        )
        summaries_validator().validate(json.loads(config["data"]["summaries"]))


def summaries_validator() -> Draft202012Validator:
    return Draft202012Validator(
        json.loads((SCHEMAS / "wire" / "summaries.json").read_text("utf-8"))
    )


def test_what_is_written_on_the_wire_satisfies_its_schema() -> None:
    auth = EndpointAuth(
        ca_config_map_ref=ConfigMapRef(name="ca", key="ca.crt"), service_account_token=True
    )
    full = ScorerSummary(
        name="a",
        score_name="a",
        scoring_arguments={"x": [1]},
        score_range=ScoreRange(min=0, max=2.5, output_min=100, output_max=1),
        score_aggregation="Mean",
        score_ttl_seconds=900,
        publish=PublishRule(deadband=2, min_interval_seconds=60),
        source_ref="platform",
        source_headers=(
            Header(name="X-Scope-OrgID", value="a"),
            Header(name="X-Api-Key", secret_ref=SecretRef(name="s", key="k")),
        ),
        source_basic_auth=BasicAuth(name="s", username_key="u", password_key="p"),
        source_client_certificate=ClientCertificate(
            name="s", certificate_key="c", private_key_key="k"
        ),
        source_parameters={"partial_response": "false"},
        source_on_partial="Fail",
        source_auth=auth,
        scoring_auth=auth,
    )
    text = encode([full, ScorerSummary(name="b", score_name="b")])
    summaries_validator().validate(json.loads(text))
    assert len(decode(text).summaries) == 2


@pytest.mark.parametrize("key", UPSTREAM_KEYS)
def test_upstream_keys_are_always_written(key: str) -> None:
    entry = json.loads(encode([ScorerSummary(name="b", score_name="b")]))[0]
    assert summaries_validator().is_valid([entry])
    del entry[key]
    assert not summaries_validator().is_valid([entry])


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({}, True),
        ({"scores": None}, False),
        ({"scores": None, "placement": {"ref": "shared"}}, True),
        ({"placement": {"ref": "shared"}}, False),
        ({"placement": {"ref": None}}, True),
    ],
)
def test_editors_ask_for_scores_or_a_reference(changes: dict[str, Any], valid: bool) -> None:
    """`validate` reports it by rules of its own, with other codes."""
    spec = {
        name: value
        for name, value in {**APPLICATION["spec"], **changes}.items()
        if value is not None
    }
    assert bundled().is_valid({**APPLICATION, "spec": spec}) == valid
