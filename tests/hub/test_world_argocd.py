"""The world's models of Argo CD do what Argo CD does.

The ApplicationSet controller, and the application controller as far as copies come, are refreshed
and go.

Sequences are played on the models and on the real controllers side by side, one step of each
sequence after the other. OCM does not decide here: a step writes the pages of a decision.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from gitops_dsf.hub.names import APPLICATION_LABEL, PLACEMENT_LABEL, REFRESH_ANNOTATION
from gitops_dsf.render.delivery import decision_readers
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.decisionreaders import reading_decisions
from tests.hub.scenario.placements import DECISION
from tests.hub.scenario.sides import Modelled, Real, Side, Step
from tests.world import fleet
from tests.world.argocd import COMPARISON_SECONDS, Applications, ApplicationSets

pytestmark = pytest.mark.family("kubernetes", "ocm", "argocd")

ARGOCD, WORKLOADS = "argocd", "world-argocd"
UNKNOWN = "not-in-argocd"
SEQUENCES, ROUNDS = 20, 7
REST_SECONDS = 150.0
"""Virtual seconds after which the models have done everything that a step makes them do."""
HOLD_SECONDS = 1.0
REFRESH = "argocd.argoproj.io/refresh"
NAMES = [f"seq-{number:02}" for number in range(SEQUENCES)]
RENDERED = "app-00"


def application_set(name: str, url: str) -> Object:
    """One as the product renders it, which looks again in an hour by itself."""
    tree = fleet.rendered(fleet.sources(clusters=1, scorers=1, applications=1))
    text = json.dumps(tree.objects["applicationsets", ARGOCD, RENDERED])
    item: Object = json.loads(text.replace(RENDERED, name))
    item["spec"]["generators"][0]["clusterDecisionResource"]["requeueAfterSeconds"] = 3600
    spec = item["spec"]["template"]["spec"]
    spec["source"] = {"repoURL": url, "path": name, "targetRevision": "main"}
    spec["destination"]["namespace"] = WORKLOADS
    return item


def said_of(side: Side, *, workloads: set[tuple[str, str]]) -> dict[str, Any]:
    """What there is of sets, Applications and workloads, without what each side names in its own
    way.
    """
    found: dict[str, Any] = {}
    for item in side.list(APPLICATION_SET, namespace=ARGOCD):
        annotations = item["metadata"].get("annotations") or {}
        found[f"set {item['metadata']['name']}"] = sorted(annotations)
    uids = {
        item["metadata"]["uid"]: item["metadata"]["name"]
        for item in side.list(APPLICATION_SET, namespace=ARGOCD)
    }
    for item in side.list(APPLICATION, namespace=ARGOCD):
        metadata, status = item["metadata"], item.get("status") or {}
        owners = [
            (
                one["apiVersion"],
                one["kind"],
                one["name"],
                one["controller"],
                one["blockOwnerDeletion"],
                uids.get(one["uid"]),
            )
            for one in metadata.get("ownerReferences") or []
        ]
        found[f"application {metadata['name']}"] = {
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "finalizers": metadata.get("finalizers") or [],
            "owners": owners,
            "going": "deletionTimestamp" in metadata,
            "spec": item["spec"],
            "health": (status.get("health") or {}).get("status"),
            "sync": (status.get("sync") or {}).get("status"),
            "phase": (status.get("operationState") or {}).get("phase"),
        }
    return found | {f"workload {name} on {cluster}": True for name, cluster in workloads}


@dataclass
class Model(Modelled):
    """The models of both controllers."""

    lost: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.sets = ApplicationSets(self.hub, seed=1, knows=lambda cluster: cluster in SPOKES)
        self.applications = Applications(
            self.hub, seed=1, reachable=lambda cluster: cluster not in self.lost
        )
        self.start(self.sets.run)

    def said(self) -> dict[str, Any]:
        return said_of(self, workloads=set(self.applications.workloads))


@dataclass(kw_only=True)
class Pair:
    """Both sides."""

    model: Model
    real: Real
    plane: ControlPlane
    argocd: ArgoCD
    url: str
    uids: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of each Application, on both sides, after the last step."""

    def workloads(self) -> set[tuple[str, str]]:
        """The ConfigMaps on the spokes."""
        return {
            (item["metadata"]["name"], name)
            for name, spoke in self.plane.spokes.items()
            for item in spoke.admin.list("v1/ConfigMap", namespace=WORKLOADS)
            if item["metadata"]["name"] in NAMES
        }

    def play(self, *steps: Step, rest: float = REST_SECONDS) -> None:
        for step in steps:
            self.model.play(step)
            self.model.passing(0.2)
        self.model.passing(rest)
        for step in steps:
            self.real.play(step)
        self.agrees("; ".join(map(str, steps)))

    def agrees(self, what: str) -> None:
        wanted = self.model.said()

        def differs() -> dict[str, Any]:
            found = said_of(self.real, workloads=self.workloads())
            names = sorted(wanted.keys() | found.keys())
            return {
                name: (wanted.get(name), found.get(name))
                for name in names
                if wanted.get(name) != found.get(name)
            }

        agreed = f"Argo CD does what its model did after {what}"
        wait_for(lambda: not differs(), what=agreed, seen=differs)
        hold_for(lambda: not differs(), what=agreed, seconds=HOLD_SECONDS)
        before, self.uids = self.uids, self.identities()
        again = {
            name: tuple(old != new for old, new in zip(before[name], now, strict=True))
            for name, now in self.uids.items()
            if name in before
        }
        assert {name: one for name, one in again.items() if len(set(one)) > 1} == {}, (
            "deleted on one side only"
        )

    def identities(self) -> dict[str, tuple[str, str]]:
        model, real = (
            {
                one["metadata"]["name"]: one["metadata"]["uid"]
                for one in side.list(APPLICATION, namespace=ARGOCD)
            }
            for side in (self.model, self.real)
        )
        return {name: (uid, real[name]) for name, uid in model.items()}


@pytest.fixture(scope="module")
def readable(argocd: ArgoCD, control_plane: ControlPlane, hub: Client) -> Iterator[None]:
    """The controller may list decisions, as our rendered Role lets it, and Argo CD knows both
    spokes.
    """
    [config] = [item for item in decision_readers(ARGOCD) if item["kind"] == "ConfigMap"]
    hub.apply(config)
    with reading_decisions(hub, control_plane), argocd.knowing(control_plane.spokes.values()):
        yield
    hub.delete("v1/ConfigMap", config["metadata"]["name"], namespace=ARGOCD)


@pytest.fixture
def pair(
    readable: None, control_plane: ControlPlane, hub: Client, argocd: ArgoCD, git_server: GitServer
) -> Iterator[Pair]:
    repository = git_server.create("world-argocd")
    repository.commit(
        {f"{name}/map.yaml": json.dumps(manifest("v1/ConfigMap", name)) for name in NAMES}
    )
    for spoke in control_plane.spokes.values():
        spoke.admin.apply(manifest("v1/Namespace", WORKLOADS))
    model = Model()
    yield Pair(model=model, real=Real(hub), plane=control_plane, argocd=argocd, url=repository.url)
    model.close()
    for kind in (APPLICATION_SET, APPLICATION):

        def deleted(kind: str = kind) -> list[str]:
            """What there was: a set that is being deleted may have made one more Application."""
            names = [item["metadata"]["name"] for item in hub.list(kind, namespace=ARGOCD)]
            for name in names:
                hub.delete(kind, name, namespace=ARGOCD)
            return names

        wait_for(lambda: not deleted(), what=f"no {kind} is left", seen=deleted)
    for item in hub.list(DECISION, namespace=ARGOCD):
        hub.delete(DECISION, item["metadata"]["name"], namespace=ARGOCD)
    for spoke in control_plane.spokes.values():
        for item in spoke.admin.list("v1/ConfigMap", namespace=WORKLOADS):
            spoke.admin.delete("v1/ConfigMap", item["metadata"]["name"], namespace=WORKLOADS)


class Drawn:
    """A sequence: an ApplicationSet of its own, and what people, OCM and our reconciler do."""

    def __init__(self, name: str, *, url: str) -> None:
        self.name, self.url = name, url
        self.random = random.Random(f"{name} applications")
        self.pages: dict[int, list[str]] = {}
        self.there = False
        self.stale = False
        """Whether the last look was an error, so that the next one must be asked for."""
        self.copies: set[str] = set()
        """Clusters with an Application."""

    def steps(self) -> Iterator[tuple[Step, ...]]:
        yield (*self.decide(*SPOKES[: self.random.choice([1, 1, 2])]), *self.create())
        for _ in range(ROUNDS - 1):
            kinds = [
                self.decides,
                self.decides,
                self.decides,
                self.touches,
                self.touches,
                self.deletes,
                self.edits,
            ]
            yield self.random.choice(kinds)() if self.there else self.create()

    def create(self) -> tuple[Step, ...]:
        self.there = True
        item = application_set(self.name, self.url)
        body = {"metadata": {**item["metadata"]}, "spec": item["spec"]}
        self.looks()
        return (
            Step(verb="create", kind=APPLICATION_SET, name=self.name, namespace=ARGOCD, body=body),
        )

    def looks(self) -> None:
        """The controller looks: what there is of copies then."""
        listed = [cluster for clusters in self.pages.values() for cluster in clusters]
        self.stale = not self.pages
        self.copies |= {one for one in listed if listed.count(one) == 1 and one in SPOKES}

    def decide(self, *clusters: str, apart: bool = False) -> Iterator[Step]:
        """The pages say this. `apart`: one page for each cluster."""
        wanted = (
            {number: [one] for number, one in enumerate(clusters, 1)} if apart else {1: [*clusters]}
        )
        yield from self.paged(wanted)

    def paged(self, wanted: dict[int, list[str]]) -> Iterator[Step]:
        for number in sorted(self.pages.keys() | wanted.keys()):
            page: Any = {
                "kind": DECISION,
                "name": f"{self.name}-decision-{number}",
                "namespace": ARGOCD,
            }
            if number not in wanted:
                yield Step(verb="delete", **page)
                continue
            if number not in self.pages:
                body = {"metadata": {"labels": {PLACEMENT_LABEL: self.name}}}
                yield Step(verb="create", body=body, **page)
            decisions = [{"clusterName": cluster, "reason": ""} for cluster in wanted[number]]
            yield Step(verb="status", body={"decisions": decisions}, **page)
        self.pages = wanted

    def decides(self) -> tuple[Step, ...]:
        """OCM decides, and our reconciler mostly asks for a look."""
        one, two = self.random.sample(SPOKES, 2)
        kinds: list[dict[int, list[str]]] = [
            {1: [one]},
            {1: [one]},
            {1: [one, two]},
            {1: [one], 2: [two]},
            {1: [one], 2: [one]},
            {1: []},
            {},
            {1: [one, UNKNOWN]},
        ]
        wanted = self.random.choice(kinds)
        steps = tuple(self.paged(wanted))
        if self.stale or not wanted or self.random.random() < 0.8:
            self.looks()
            return (*steps, self.refresh())
        return steps

    def refresh(self) -> Step:
        value = {"metadata": {"annotations": {REFRESH_ANNOTATION: str(self.random.random())}}}
        return self.merge(APPLICATION_SET, self.name, value)

    def touches(self) -> tuple[Step, ...]:
        """Somebody changes an Application, or asks for a refresh of it."""
        if not self.copies:
            return ()
        self.looks_again()
        name = f"{self.name}-{self.random.choice(sorted(self.copies))}"
        change: Object = self.random.choice(
            [
                {"metadata": {"annotations": {REFRESH: "normal"}}},
                {"metadata": {"annotations": {REFRESH: "hard"}}},
                {"metadata": {"annotations": {"people.example.com/note": "x"}}},
                {"metadata": {"labels": {"people": "x"}}},
                {"metadata": {"labels": {APPLICATION_LABEL: None}}},
                {"metadata": {"finalizers": None}},
                {"spec": {"source": {"targetRevision": "HEAD"}}},
            ]
        )
        return (self.merge(APPLICATION, name, change),)

    def looks_again(self) -> None:
        """A change of an Application makes the controller look, and so the pages that nobody asked
        it to look at count now.
        """
        self.looks()

    def deletes(self) -> tuple[Step, ...]:
        """Our reconciler or somebody else deletes an Application.

        One that is decided comes again.
        """
        if not self.copies:
            return ()
        cluster = self.random.choice(sorted(self.copies))
        self.copies.remove(cluster)
        self.looks()
        return (
            Step(verb="delete", kind=APPLICATION, name=f"{self.name}-{cluster}", namespace=ARGOCD),
        )

    def edits(self) -> tuple[Step, ...]:
        """The set changes in git, or goes with all its Applications."""
        if self.random.random() < 0.4:
            self.there, self.copies = False, set()
            return (Step(verb="delete", kind=APPLICATION_SET, name=self.name, namespace=ARGOCD),)
        self.looks()
        changes: list[Object] = [
            {
                "spec": {
                    "template": {"metadata": {"labels": {"team": str(self.random.randint(0, 9))}}}
                }
            },
            {"metadata": {"annotations": {"people.example.com/note": "y"}}},
        ]
        change = self.random.choice(changes)
        return (self.merge(APPLICATION_SET, self.name, change),)

    def merge(self, kind: str, name: str, change: Object) -> Step:
        return Step(verb="merge", kind=kind, name=name, namespace=ARGOCD, body=change)


def test_the_controllers_do_what_their_models_do(pair: Pair) -> None:
    drawn = [list(Drawn(name, url=pair.url).steps()) for name in NAMES]
    for steps in zip(*drawn, strict=True):
        pair.play(*(step for mine in steps for step in mine))


def test_what_a_restored_etcd_says_of_applications_is_corrected(pair: Pair) -> None:
    """It says of each what was true before: that it was not healthy yet, or was not synced yet.

    The real controller compares every five seconds here, and its model within three minutes.
    """
    older: list[Object] = [
        {"health": {"status": "Progressing"}},
        {"health": {"status": "Degraded"}},
        {"health": {"status": "Missing"}, "sync": {"status": "OutOfSync"}},
    ]
    drawn = [Drawn(name, url=pair.url) for name in NAMES[: len(older) + 1]]
    pair.play(*(step for each in drawn for step in (*each.decide(SPOKES[0]), *each.create())))
    applications = [f"{each.name}-{SPOKES[0]}" for each in drawn]
    assert {one["health"] for name, one in pair.model.said().items() if "application" in name} == {
        "Healthy"
    }
    pair.play(
        *(
            each.merge(APPLICATION, name, {"status": status})
            for each, name, status in zip(drawn, applications, [*older, None], strict=True)
        ),
        rest=COMPARISON_SECONDS + REST_SECONDS,
    )
