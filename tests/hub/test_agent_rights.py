"""The agent works with the rights that we render, and has no others.

On the hub and on its spoke.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, MAX_ITEM_NAME, MAX_SCORE_ITEMS
from gitops_dsf.hub.names import RECONCILER
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.plane import ControlPlane, addon_identity
from tests.hub.controlplane.waiting import wait_for, wait_until_there
from tests.hub.scenario.agents import cluster_dns, spoke_agent, wait_for_deployment
from tests.hub.scenario.fleet import RESOURCE, SCORING, new_fleet
from tests.hub.scenario.headroom import HeadroomApi
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import SCORE, delete_scores

pytestmark = pytest.mark.family("kubernetes", "ocm", "argocd")

SECRET, ELSE = "api-token", "somebody-elses"
HUB_NAMESPACE = "gitops-dsf"
SCORES = "cluster.open-cluster-management.io/addonplacementscores"
SCORE_RIGHTS = {(SCORES, verb, "") for verb in ("get", "list", "create", "patch", "delete")} | {
    (f"{SCORES}/status", "patch", "")
}


@dataclass(frozen=True, kw_only=True)
class Rights:
    """An installed fleet, and the two identities of the agent of cluster1."""

    installation: Installation
    identity: Identity
    agent: Client
    """On the hub."""
    account: Client
    """On the spoke."""


@pytest.fixture(scope="module")
def rights(control_plane: ControlPlane, argocd: object, git_server: GitServer) -> Iterator[Rights]:
    # No metrics needed: this scorer asks the API with nothing but its token.
    fleet = new_fleet(git_server, "rights", secret=SECRET, source={"type": "None"})
    with ExitStack() as stack:
        installation = stack.enter_context(installed(fleet, control_plane))
        for cluster in fleet.clusters:
            wait_for_deployment(control_plane, cluster)
        identity = addon_identity(cluster="cluster1", addon=ADDON_NAME)
        agent = stack.enter_context(control_plane.hub.client(identity))
        spoke = control_plane.spokes["cluster1"]
        wait_for(
            lambda: [agent.list(SCORE, namespace="cluster1")],
            what="the add-on manager gave the agent its rights",
        )
        account = stack.enter_context(
            Client(spoke.service_account_kubeconfig(AGENT_NAMESPACE, ADDON_NAME))
        )
        for name in (SECRET, ELSE):
            stack.callback(spoke.admin.delete, "v1/Secret", name, namespace=AGENT_NAMESPACE)
        # A role counts a moment after it is written; a pod would simply be told "forbidden" once.
        spoke.admin.apply(secret(SECRET, "s3cret"))
        wait_until_there(account, "v1/Secret", SECRET, namespace=AGENT_NAMESPACE)
        installation.wait_for_policies()
        yield Rights(installation=installation, identity=identity, agent=agent, account=account)


def test_on_the_hub_it_has_exactly_the_rendered_rights(rights: Rights) -> None:
    stranger = Identity(user="somebody", groups=())
    hub = rights.installation.plane.hub
    with hub.client(stranger) as anybody:
        for namespace, wanted in {
            "cluster1": SCORE_RIGHTS,
            "cluster2": set(),
            "argocd": set(),
            "default": set(),
            HUB_NAMESPACE: set(),
        }.items():
            held = rights.agent.granted(namespace) - anybody.granted(namespace)
            assert held == wanted, namespace


def test_it_publishes_in_its_own_namespace_only(rights: Rights) -> None:
    rights.agent.create(score(RESOURCE))
    given = filled(RESOURCE, {"probe": 7})
    assert rights.agent.apply_status(given)["status"]["scores"] == given["status"]["scores"]
    rights.agent.delete(SCORE, RESOURCE, namespace="cluster1")
    with pytest.raises(ApiError, match="403 Forbidden"):
        rights.agent.create(manifest(SCORE, RESOURCE, namespace="cluster2"))


OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}
NOT_THE_FLEETS = "of the fleet's scorers and no others"


def score(name: str, *, labels: Object | None = None) -> Object:
    return manifest(SCORE, name, namespace="cluster1", meta={"labels": labels or {}})


def filled(name: str, items: Mapping[str, int]) -> Object:
    scores = [{"name": item, "value": value} for item, value in items.items()]
    return {**score(name), "status": {"scores": scores}}


@pytest.fixture(autouse=True)
def objects(rights: Rights) -> Iterator[Client]:
    """The hub's administrator, for objects of another team.

    All scores of cluster1 are deleted before and afterwards.
    """
    delete_scores(rights.installation.hub, "cluster1")
    yield rights.installation.hub
    delete_scores(rights.installation.hub, "cluster1")


@pytest.mark.parametrize("name", ["somebody-elses", f"{RESOURCE}-2", ""])
def test_it_creates_scores_of_the_fleets_scorers_only(
    rights: Rights, objects: Client, name: str
) -> None:
    item = score(name)
    if not name:
        item["metadata"] |= {"generateName": f"{RESOURCE}-"}
    with pytest.raises(
        ApiError, match="may write the AddOnPlacementScores of the fleet's scorers and no"
    ):
        rights.agent.create(item)
    if name:
        objects.create(item)


def test_an_agent_that_registers_by_token_has_the_same_limits(
    rights: Rights, objects: Client
) -> None:
    user = f"system:serviceaccount:cluster1:{ADDON_NAME}-agent"
    identity = Identity(
        user=user, groups=("system:serviceaccounts", "system:serviceaccounts:cluster1")
    )
    with rights.installation.plane.hub.client(identity) as agent:
        with pytest.raises(ApiError, match=NOT_THE_FLEETS):
            agent.create(score("somebody-elses"))
        agent.create(score(RESOURCE))
        agent.apply_status(filled(RESOURCE, {"a": 1}))


def test_it_does_not_write_to_scores_of_others(rights: Rights, objects: Client) -> None:
    objects.create(score("somebody-elses"))
    with pytest.raises(ApiError, match=NOT_THE_FLEETS):
        rights.agent.apply_status(filled("somebody-elses", {"a": 1}))
    with pytest.raises(ApiError, match=NOT_THE_FLEETS):
        rights.agent.patch(
            SCORE, "somebody-elses", {"metadata": {"labels": OURS}}, namespace="cluster1"
        )
    objects.apply_status(filled("somebody-elses", {f"n{number}": 1 for number in range(3)}))


def test_it_moves_no_application(rights: Rights, objects: Client) -> None:
    """An item of gitops-dsf-moves carries out a paced move, so an agent neither makes nor changes
    nor takes away one, whatever its labels are.
    """
    moves = score("gitops-dsf-moves", labels=OURS)
    # Two policies refuse this one, and the API server tells of either.
    with pytest.raises(ApiError, match=f"only the reconciler writes|{NOT_THE_FLEETS}"):
        rights.agent.create(moves)
    server = rights.installation.plane.hub
    with Client(server.service_account_kubeconfig(HUB_NAMESPACE, RECONCILER)) as reconciler:
        reconciler.create(moves)
    with pytest.raises(ApiError, match="only the reconciler writes"):
        rights.agent.apply_status(filled("gitops-dsf-moves", {"argocd/guestbook": 100}))
    with pytest.raises(ApiError, match="only the reconciler writes"):
        rights.agent.delete(SCORE, "gitops-dsf-moves", namespace="cluster1")


OWNER = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "name": "x",
    "uid": "0d5c8bd2-1111-4222-8333-444455556666",
}
CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "Made",
    "message": "x",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
SCORED = {**CONDITION, "type": "Scored", "status": "False", "reason": "NoSeries"}
NOT_OURS: dict[str, tuple[Object, str]] = {
    "finalizer": (
        {"metadata": {"finalizers": ["example.com/kept"]}},
        "neither finalizers nor owners",
    ),
    "owner": ({"metadata": {"ownerReferences": [OWNER]}}, "neither finalizers nor owners"),
    "annotation": (
        {"metadata": {"annotations": {"x": "y" * 200_000}}},
        "gives an AddOnPlacementScore no annotations",
    ),
    "label": ({"metadata": {"labels": {"team": "b"}}}, "may change the labels .* and no others"),
    "label removed": (
        {"metadata": {"labels": {"kept": None}}},
        "may change the labels .* and no others",
    ),
}


@pytest.mark.parametrize("what", NOT_OURS)
def test_its_scores_have_no_metadata_but_our_labels(
    rights: Rights, objects: Client, what: str
) -> None:
    """A finalizer would keep the namespace of the cluster, an owner would have the score deleted,
    and annotations fill the hub. What others wrote on it stays, and the agent still renews its
    scores.
    """
    change, message = NOT_OURS[what]
    if what != "label removed":
        made = score(RESOURCE)
        made["metadata"] |= change["metadata"]
        with pytest.raises(ApiError, match=f"403 Forbidden.*{message}"):
            rights.agent.create(made)
    theirs = score(RESOURCE, labels={"kept": "yes"})
    theirs["metadata"] |= {"annotations": {"note": "kept"}, "finalizers": ["example.com/theirs"]}
    objects.create(theirs)
    try:
        with pytest.raises(ApiError, match=f"403 Forbidden.*{message}"):
            rights.agent.patch(SCORE, RESOURCE, change, namespace="cluster1")
        rights.agent.apply_status(filled(RESOURCE, {"a": 1}))
        ours = {
            "app.kubernetes.io/managed-by": "gitops-dsf-agent",
            "gitops-dsf.io/scorer": "cpu-headroom",
        }
        rights.agent.patch(
            SCORE,
            RESOURCE,
            {"metadata": {"labels": {**ours, "gitops-dsf.io/runs-on": None}}},
            namespace="cluster1",
        )
        found = objects.get(SCORE, RESOURCE, namespace="cluster1")
        assert found["metadata"]["labels"] == {**ours, "kept": "yes"}
        assert found["status"]["scores"] == [{"name": "a", "value": 1}]
        rights.agent.delete(SCORE, RESOURCE, namespace="cluster1")
    finally:
        objects.patch(SCORE, RESOURCE, {"metadata": {"finalizers": None}}, namespace="cluster1")


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (CONDITION, "the condition Scored and no others"),
        ({**SCORED, "message": "m" * 257}, "a message of at most 256 characters"),
        ({**SCORED, "reason": "R" * 65}, "a reason of at most 64"),
    ],
    ids=["another type", "message", "reason"],
)
def test_its_scores_have_the_condition_scored_and_no_other(
    rights: Rights, objects: Client, condition: Object, words: str
) -> None:
    rights.agent.create(score(RESOURCE))
    status = filled(RESOURCE, {"a": 1})["status"]
    with pytest.raises(ApiError, match=f"403 Forbidden.*{words}"):
        rights.agent.patch_status(
            SCORE, RESOURCE, {**status, "conditions": [condition]}, namespace="cluster1"
        )
    longest = {**SCORED, "message": "m" * 256, "reason": "R" * 64}
    answer = rights.agent.patch_status(
        SCORE, RESOURCE, {**status, "conditions": [longest]}, namespace="cluster1"
    )
    assert answer["status"]["conditions"] == [longest]


def test_conditions_of_others_stay_while_it_writes_its_own(rights: Rights, objects: Client) -> None:
    objects.create(score(RESOURCE, labels=OURS))
    objects.patch_status(SCORE, RESOURCE, {"conditions": [CONDITION]}, namespace="cluster1")
    ours = filled(RESOURCE, {"a": 1})
    ours["status"]["conditions"] = [SCORED]
    rights.agent.apply_status(ours)
    found = objects.get(SCORE, RESOURCE, namespace="cluster1")["status"]["conditions"]
    assert sorted(found, key=lambda one: str(one["type"])) == [CONDITION, SCORED]


def test_it_renews_scores_of_a_removed_scorer(rights: Rights, objects: Client) -> None:
    objects.create(score("an-old-scorer", labels=OURS))
    rights.agent.apply_status(filled("an-old-scorer", {"a": 1}))
    rights.agent.delete(SCORE, "an-old-scorer", namespace="cluster1")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ({f"{number}": 1 for number in range(MAX_SCORE_ITEMS + 1)}, "has at most 20000 scores"),
        ({"x" * (MAX_ITEM_NAME + 1): 1}, "the name of a score has at most 4096 characters"),
    ],
    ids=["items", "name"],
)
def test_it_writes_no_more_than_an_agent_publishes(
    rights: Rights, objects: Client, items: Mapping[str, int], words: str
) -> None:
    rights.agent.create(score(RESOURCE))
    with pytest.raises(ApiError, match=words):
        rights.agent.patch_status(
            SCORE, RESOURCE, filled(RESOURCE, items)["status"], namespace="cluster1"
        )
    rights.agent.apply_status(filled(RESOURCE, {"x" * MAX_ITEM_NAME: 1}))


def test_the_largest_object_that_it_may_write_is_not_refused(
    rights: Rights, objects: Client
) -> None:
    """The API server's cost limit for expressions is not exceeded, neither when the scores are new
    nor when they are renewed. By merge patches: of so many items an apply costs the API server five
    times as much, and on a busy machine more than the 34 s that it gives itself.
    """
    rights.agent.create(score(RESOURCE))
    for value in (1, 2):
        items = {f"{number}": value for number in range(MAX_SCORE_ITEMS)}
        status = filled(RESOURCE, items)["status"]
        answer = rights.agent.patch_status(SCORE, RESOURCE, status, namespace="cluster1")
        assert len(answer["status"]["scores"]) == MAX_SCORE_ITEMS


def test_on_the_spoke_it_reads_the_named_secrets_only(rights: Rights) -> None:
    admin = rights.installation.plane.spokes["cluster1"].admin
    for name in (SECRET, ELSE):
        admin.apply(secret(name, "s3cret"))
    assert rights.account.get("v1/Secret", SECRET, namespace=AGENT_NAMESPACE)["data"]
    for refused in (
        lambda: rights.account.get("v1/Secret", ELSE, namespace=AGENT_NAMESPACE),
        lambda: rights.account.list("v1/Secret", namespace=AGENT_NAMESPACE),
        lambda: rights.account.list("v1/ConfigMap", namespace=AGENT_NAMESPACE),
        lambda: rights.account.list("v1/Pod", namespace=AGENT_NAMESPACE),
        lambda: rights.account.list("v1/Secret", namespace="kube-system"),
        lambda: rights.account.delete("v1/Secret", SECRET, namespace=AGENT_NAMESPACE),
        lambda: rights.account.apply(secret(SECRET, "changed")),
    ):
        with pytest.raises(ApiError, match="403 Forbidden"):
            refused()


def test_it_works_with_these_rights_and_uses_a_rotated_token(
    rights: Rights, tmp_path: Path
) -> None:
    plane = rights.installation.plane
    admin = plane.spokes["cluster1"].admin
    admin.apply(secret(SECRET, "first"))
    with (
        HeadroomApi(token="first", fixed=0.5) as api,
        cluster_dns({SCORING: api.url}) as environment,
        spoke_agent(plane, "cluster1", folder=tmp_path, environment=environment) as agent,
    ):
        wait_for(
            lambda: api.requests,
            what="the agent calls the API with its token",
            seen=agent.process.tail,
        )
        wait_until_there(
            rights.agent, SCORE, RESOURCE, namespace="cluster1", seen=agent.process.tail
        )
        assert not api.refused
        api.token = "second"
        wait_for(lambda: api.refused, what="the old token is refused")
        admin.apply(secret(SECRET, "second"))
        seen = len(api.requests)
        wait_for(
            lambda: len(api.requests) > seen, what="the new one is used", seen=agent.process.tail
        )
        log = agent.process.written()
        assert "first" not in log
        assert "second" not in log
        assert "forbidden" not in log.lower()


def secret(name: str, token: str) -> Object:
    return manifest("v1/Secret", name, namespace=AGENT_NAMESPACE, stringData={"token": token})
