"""Skupper's objects of docs/scores/scoring-apis.md, as far as they can be tried without Skupper.

A real API server with Skupper's kinds takes them, and the names in them fit each other, the
scaffold of `dsf-scorer new` and the scorer. The kinds have the fields of Skupper 2
(config/crd/bases of skupperproject/skupper): a misspelt or missing one is refused.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dsf_scorer.command import create
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import (
    CRD,
    remove_kinds,
    wait_until_gone,
    wait_until_served,
)
from tests.support import yamlfast

pytestmark = [pytest.mark.family("kubernetes", "ocm")]

PAGE = (Path(__file__).parents[2] / "docs/scores/scoring-apis.md").read_text(encoding="utf-8")
CLUSTER = "cluster1"
TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
SETTINGS = {"type": "object", "additionalProperties": TEXT}
KINDS: dict[str, Object] = {
    "Site": {
        "properties": {
            "serviceAccount": TEXT,
            "linkAccess": TEXT,
            "defaultIssuer": TEXT,
            "ha": FLAG,
            "edge": FLAG,
            "settings": SETTINGS,
        },
    },
    "Connector": {
        "properties": {
            "routingKey": TEXT,
            "port": NUMBER,
            "selector": TEXT,
            "host": TEXT,
            "tlsCredentials": TEXT,
            "useClientCert": FLAG,
            "verifyHostname": FLAG,
            "type": TEXT,
            "includeNotReadyPods": FLAG,
            "exposePodsByName": FLAG,
            "settings": SETTINGS,
        },
        "required": ["routingKey", "port"],
        "oneOf": [{"required": ["selector"]}, {"required": ["host"]}],
    },
    "Listener": {
        "properties": {
            "routingKey": TEXT,
            "host": TEXT,
            "port": NUMBER,
            "tlsCredentials": TEXT,
            "type": TEXT,
            "exposePodsByName": FLAG,
            "settings": SETTINGS,
        },
        "required": ["routingKey", "host", "port"],
    },
    "AccessGrant": {
        "properties": {
            "redemptionsAllowed": NUMBER,
            "expirationWindow": {"type": "string", "format": "duration"},
            "code": TEXT,
            "issuer": TEXT,
            "settings": SETTINGS,
        },
    },
}
"""The spec of each kind in skupper.io/v2alpha1."""


def blocks() -> list[str]:
    """The YAML of the section about Skupper."""
    section = PAGE.split("### With Skupper\n")[1].split("\n### ")[0]
    return re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)


def documented() -> list[Object]:
    """Skupper's objects, in the order of the page."""
    found: list[Object] = []
    for block in blocks():
        found += [item for item in yamlfast.load_all(block) if "skupper.io" in str(item)]
    return found


def the(kind: str) -> Object:
    """The spec of the one object of a kind."""
    (item,) = (item for item in documented() if item["kind"] == kind)
    return dict(item["spec"])


@pytest.fixture(scope="module")
def spoke(control_plane: ControlPlane) -> Iterator[Client]:
    client = control_plane.spokes[CLUSTER].admin
    definitions = []
    for kind, spec in KINDS.items():
        plural = f"{kind.lower()}s"
        root = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
        version = {
            "name": "v2alpha1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": root},
        }
        names = {"kind": kind, "plural": plural, "singular": kind.lower()}
        definition = manifest(
            CRD,
            f"{plural}.skupper.io",
            spec={
                "group": "skupper.io",
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        )
        definitions.append(client.apply(definition))
    client.apply(manifest("v1/Namespace", "scoring"))
    wait_until_served(client, definitions)
    yield client
    client.delete("v1/Namespace", "scoring")
    wait_until_gone(client, "v1/Namespace", "scoring")
    remove_kinds(client, (definition["metadata"]["name"] for definition in definitions))


def test_the_api_server_takes_each_object(spoke: Client) -> None:
    items = documented()
    assert [item["kind"] for item in items] == [
        "Site",
        "Connector",
        "Site",
        "Listener",
        "AccessGrant",
    ]
    for item in items:
        assert spoke.apply(item, dry_run=True)["metadata"]["namespace"] == "scoring"


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("Connector", {"selectors": "app=x"}),
        ("Connector", {"host": "api"}),
        ("Listener", {"routingKey": None}),
        ("AccessGrant", {"expirationWindow": "a day"}),
        ("Site", {"linkAccess": True}),
    ],
)
def test_a_mistake_in_an_object_is_refused(spoke: Client, kind: str, change: Object) -> None:
    """So the test above can fail."""
    item = next(item for item in documented() if item["kind"] == kind)
    spec = {**item.get("spec", {}), **change}
    wrong = {**item, "spec": {name: value for name, value in spec.items() if value is not None}}
    with pytest.raises(ApiError):
        spoke.apply(wrong, dry_run=True)


def test_the_connector_finds_the_pods_of_the_scaffold(tmp_path: Path) -> None:
    create("forecast", tmp_path)
    items = yamlfast.load_all((tmp_path / "deploy/api.yaml").read_text("utf-8"))
    deployment, service = (
        next(item for item in items if item["kind"] == kind) for kind in ("Deployment", "Service")
    )
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    ports = [
        port["containerPort"]
        for container in deployment["spec"]["template"]["spec"]["containers"]
        for port in container["ports"]
    ]
    connector = the("Connector")
    name, _, value = connector["selector"].partition("=")
    assert labels[name] == value
    assert connector["port"] in ports
    # On the cluster of the API there is no Listener, and the scorer calls the Service itself.
    listener = the("Listener")
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == (
        listener["host"],
        "scoring",
    )
    assert [port["port"] for port in service["spec"]["ports"]] == [listener["port"]]


def test_the_scorer_calls_what_the_listener_opens() -> None:
    listener = the("Listener")
    assert listener["routingKey"] == the("Connector")["routingKey"]
    (block,) = (block for block in blocks() if block.startswith("# scorers/"))
    spec = yamlfast.load(block)["spec"]
    for url in (spec["configURL"], spec["scoring"]["host"]):
        parts = urlsplit(url)
        assert (parts.hostname, parts.port) == (f"{listener['host']}.scoring.svc", listener["port"])
