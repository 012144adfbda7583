"""A hub where another program owns the CRDs, as Red Hat's operator does.

It writes upstream's again and again, and upstream's controller writes statuses.

An hour of that has 720 rewrites, one every 5 s. Here they follow each other without a pause.
"""

from collections.abc import Iterator

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import CRD, wait_for
from tests.hub.scenario.fleet import DYNAMIC_SCORER, PROMETHEUS, SCORER, Fleet, new_fleet, scorer
from tests.hub.scenario.installation import MANAGER, installed
from tests.hub.scenario.reconciling import HUB_NAMESPACE, reconciling
from tests.hub.scenario.upstreamowner import Owner, conditions, kept_status, upstreams_crds
from tests.support import upstream

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

REWRITES = 720
PROBE_ROUNDS = 6
"""Upstream's controller looks every 30 s."""
QUERY, KUBERNETES = "by-query", "by-nodes"


@pytest.fixture
def owner(argocd: object, hub: Client) -> Iterator[Owner]:
    with upstreams_crds(hub) as owner:
        yield owner


@pytest.fixture
def fleet(git_server: GitServer) -> Fleet:
    """A scorer with fields of ours, one by query, and one of a source that upstream lacks."""
    fleet = new_fleet(git_server, "existing", guestbook=False, scoreTTLSeconds=900)
    by_query = {"type": "Query", "params": {"name": "by_query", "interval": 60}}
    prometheus = {"host": f"http://{PROMETHEUS}", "params": {"query": "avg(cpu_load)"}}
    fleet.write(f"scorers/{QUERY}.yaml", scorer(QUERY, scoring=by_query, source=prometheus))
    source = {"type": "Kubernetes", "params": {"query": "nodes_ready"}}
    params = {"params": {"name": "by_nodes", "interval": 60}}
    fleet.write(f"scorers/{KUBERNETES}.yaml", scorer(KUBERNETES, source=source, scoring=params))
    return fleet


def rendered_scorers(fleet: Fleet) -> dict[str, Object]:
    return {
        item["metadata"]["name"]: item
        for _, item in fleet.objects("platform")
        if item["kind"] == "DynamicScorer"
    }


def out_of_sync(hub: Client, scorers: dict[str, Object]) -> list[str]:
    """Fields for which Argo CD would call a scorer OutOfSync: on the hub, or after an apply.

    The apply is a dry run with strict validation, as Argo CD's server-side diff does it. Fields
    that the API server defaults are nobody's.
    """
    differing: list[str] = []
    for name, item in scorers.items():
        live = hub.get(DYNAMIC_SCORER, name, namespace=HUB_NAMESPACE)
        try:
            predicted = hub.apply(item, manager=MANAGER, dry_run=True)
        except ApiError as error:
            differing.append(f"{name}: {error}")
            continue
        if predicted["spec"] != live["spec"]:
            differing.append(f"{name}: another spec after an apply")
        differing += [f"{name}: {path}" for path in lacking(item["spec"], live["spec"])]
    return differing


def lacking(wanted: Object, live: Object, path: str = "spec") -> Iterator[str]:
    """Fields that an object on the hub does not have, or has with another value."""
    for field, value in wanted.items():
        if field not in live:
            yield f"{path}.{field} is missing"
        elif isinstance(value, dict) and isinstance(live[field], dict):
            yield from lacking(value, live[field], f"{path}.{field}")
        elif live[field] != value:
            yield f"{path}.{field} is {live[field]}"


def test_an_hour_of_rewrites_prunes_refuses_and_changes_nothing(
    owner: Owner, fleet: Fleet, control_plane: ControlPlane, hub: Client
) -> None:
    existing = {"delivery": {"crds": "Existing"}}
    fleet.configure(**existing)
    with installed(fleet, control_plane), reconciling(control_plane, spec=existing):
        scorers = rendered_scorers(fleet)
        assert sorted(scorers) == [KUBERNETES, SCORER]
        assert out_of_sync(hub, scorers) == []
        wait_for(
            lambda: conditions(kept_status(hub, SCORER)) >= {"Healthy", "Scored"},
            what="the conditions of a scorer are in the ConfigMap",
            seen=lambda: kept_status(hub, SCORER),
        )
        wait_for(
            lambda: conditions(kept_status(hub, QUERY)) == {"Scored"},
            what="those of a scorer without an object, too",
            seen=lambda: kept_status(hub, QUERY),
        )
        wait_for(
            lambda: hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE).get("status"),
            what="the scorer has a status, which does not come with the ConfigMap",
        )
        live = hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
        assert live["status"] == {"healthStatus": "Unknown"}, "nobody reached it from the hub"
        generation = live["metadata"]["generation"]
        for number in range(REWRITES):
            owner.rewrite()
            if number % PROBE_ROUNDS == 0:
                owner.probe(sorted(scorers))
                assert out_of_sync(hub, scorers) == []
        live = hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
        assert live["metadata"]["generation"] == generation, "no spec was ever written again"
        assert live["status"]["healthStatus"] in {"Inactive", "Unknown"}
        assert conditions(kept_status(hub, SCORER)) >= {"Healthy", "Scored"}
        definition = hub.get(CRD, upstream.crds()[0]["metadata"]["name"])
        writers = {entry["manager"] for entry in definition["metadata"]["managedFields"]}
        assert MANAGER not in writers, "Argo CD applied no CRD"


def test_with_our_crds_rendered_the_two_fight(
    owner: Owner, fleet: Fleet, control_plane: ControlPlane, hub: Client
) -> None:
    """The twin: Argo CD applies ours, the owner writes upstream's, and fields are dropped."""
    fleet.configure()
    with installed(fleet, control_plane):
        scorers = rendered_scorers(fleet)
        assert sorted(scorers) == [KUBERNETES, QUERY, SCORER]
        assert out_of_sync(hub, scorers) == []
        owner.rewrite()

        def pruned() -> bool:
            live = hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
            return "spec.scoreTTLSeconds is missing" in lacking(
                scorers[SCORER]["spec"], live["spec"]
            )

        wait_for(pruned, what="the API server drops our fields")
        assert len(out_of_sync(hub, scorers)) >= len(scorers), "Argo CD is never in sync"

        def refused() -> bool:
            try:
                hub.apply(scorers[QUERY], manager=MANAGER, dry_run=True)
            except ApiError as error:
                return error.code in {400, 422, 500}
            return False

        wait_for(refused, what="the API server refuses a scorer by query")
