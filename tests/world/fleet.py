"""The fleet repository of the world, and what it renders to: real sources, the real generator.

`Sources` is what people edit. `rendered` gives the objects that Argo CD applies, and the settings
of the reconciler.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

from gitops_dsf.diagnostics import Severity
from gitops_dsf.hub.maintenance import MaintenanceAction
from gitops_dsf.pipeline import produce
from gitops_dsf.reconciler import settings
from gitops_dsf.render import scorerlist
from gitops_dsf.repository.load.paths import FOLDER_OF_KIND
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from tests.support import fleets, rendering, yamlfast
from tests.support.apiserver import Object
from tests.world.admission import Policy, of_programs

ARGOCD: Final = "argocd"
HUB: Final = "gitops-dsf"
SOURCE_HOST: Final = "prometheus.monitoring.svc"
CENTRAL_HOST: Final = "thanos.monitoring.svc"
FORGE_HOST: Final = "forge.example.com"
PAGE_HOST: Final = "scoring.example.com"
"""Of the scoring API, whose page the lock repeats."""
SET: Final = "all"
CLUSTERS: Final = "clusters"
"""Their folder in the repository."""
PLURALS: Final = {
    "ApplicationSet": "applicationsets",
    "ConfigMap": "configmaps",
    "DynamicScorer": "dynamicscorers",
    "ManagedClusterAddOn": "managedclusteraddons",
    "ManagedClusterSetBinding": "managedclustersetbindings",
    "ManifestWork": "manifestworks",
    "Placement": "placements",
}
"""The kinds that something in the world reads."""
TOLERATED_SECONDS: Final = 600
"""How long some applications stay on a cluster that is lost."""
VERIFIER: Final = "slo"
"""The scorer by which moves are verified. It ranks nothing."""
MIN_SCORE: Final = 50
"""Points of it that a move needs."""
HOLD_SECONDS: Final = 3600
ON_UNKNOWN: Final = ("Hold", "Return", "Complete")
PACE: Final = {
    "concurrent": 3,
    "arrivalsPerCluster": 2,
    "settleSeconds": 60,
    "cooldownSeconds": 600,
    "refuges": True,
    "stopAfterReturns": 3,
    "returnsWindowSeconds": 3600,
}


@dataclass(frozen=True, kw_only=True)
class MaintenanceDocument:
    """A Maintenance document. Times are Unix seconds."""

    cluster: str
    action: MaintenanceAction
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the repository says now."""

    clusters: tuple[str, ...]
    scorers: tuple[str, ...]
    central: tuple[str, ...] = ()
    """Scorers that run on the hub."""
    applications: tuple[tuple[str, str], ...]
    """Name and scorer."""
    patient: frozenset[str] = frozenset()
    """Applications that stay on a cluster that is lost for a while, as their Placement says."""
    verified: tuple[tuple[str, str], ...] = ()
    """Applications whose moves are verified, and their onUnknown."""
    acknowledged: str = ""
    """The stop of the fleet that somebody acknowledged in git: an RFC 3339 time."""
    paced: bool = True
    drains: tuple[MaintenanceDocument, ...] = ()
    interval: int = 300
    stickiness: int = 10
    by_page: str = ""
    """The scorer that has a scoring API, with a /config page and a lock."""
    edits: tuple[tuple[str, str], ...] = ()
    """Files that somebody, or a proposal that was merged, wrote by hand: path and text."""

    def without_scorer(self, name: str) -> "Sources":
        """Its applications go by the first of the others."""
        left = tuple(each for each in self.scorers if each != name)
        moved = tuple(
            (app, left[0] if scorer == name else scorer) for app, scorer in self.applications
        )
        central = tuple(each for each in self.central if each != name)
        by_page = "" if self.by_page == name else self.by_page
        return replace(self, scorers=left, central=central, applications=moved, by_page=by_page)

    def edited(self, changes: Mapping[str, bytes | None]) -> "Sources":
        """With these files as they are here; None removes one.

        Clusters come and go with their files.
        """
        edits, clusters = dict(self.edits), set(self.clusters)
        for path, content in changes.items():
            folder, _, name = path.removesuffix(".yaml").partition("/")
            if content is None:
                edits.pop(path, None)
                clusters.discard(name)
            else:
                edits[path] = content.decode()
                clusters |= {name} if folder == CLUSTERS else set()
        return replace(self, clusters=tuple(sorted(clusters)), edits=tuple(sorted(edits.items())))

    @property
    def all_scorers(self) -> tuple[str, ...]:
        """Those that rank, and the one that verifies."""
        return (*self.scorers, VERIFIER) if self.verified else self.scorers

    @property
    def files(self) -> dict[str, bytes]:
        """What is in git, by path."""
        made = _documents(self)
        texts = {_path(item): fleets.text_of([item]) for item in made.documents}
        texts["gitops-dsf.yaml"] = fleets.text_of([made.settings])
        # The edits of a file that went with its cluster or scorer stay, for its return.
        texts |= {path: text for path, text in self.edits if path in texts}
        return {path: text.encode() for path, text in texts.items()}


@dataclass(frozen=True, kw_only=True)
class RenderedFleet:
    """Objects by plural, namespace and name."""

    objects: Mapping[tuple[str, str, str], Object]
    spec: FleetRepositorySpec
    """The settings of the reconciler."""
    policies: tuple[Policy, ...]
    """Those over the requests of our programs."""
    config: str
    """The same as text: the reconciler is rolled out when it changes."""


def sources(
    *,
    clusters: int,
    scorers: int,
    applications: int,
    interval: int = 300,
    is_verified: bool = False,
) -> Sources:
    """A fleet of this size. The last scorer runs on the hub, if there are two or more.

    `is_verified`: the moves of two thirds of its applications are verified.
    """
    names = tuple(f"free{number}" for number in range(scorers))
    verified: list[tuple[str, str]] = []
    for number in range(applications if is_verified else 0):
        if number % 3 < 2:
            verified.append((f"app-{number:02}", ON_UNKNOWN[number // 3 % len(ON_UNKNOWN)]))
    return Sources(
        clusters=tuple(f"c{number:02}" for number in range(clusters)),
        scorers=names,
        central=names[-1:] if scorers > 1 else (),
        applications=tuple(
            (f"app-{number:02}", names[number % scorers]) for number in range(applications)
        ),
        patient=frozenset(f"app-{number:02}" for number in range(applications) if number % 3 == 2),
        interval=interval,
        by_page=names[0] if scorers > 1 else "",
        verified=tuple(verified),
    )


PART_BYTES: Final = 1600
"""Of a part of the list of scorers: two scorers fill one, so that the list of a small fleet has
several.
"""


@lru_cache(maxsize=64)
def rendered(source: Sources) -> RenderedFleet:
    """Renders it as `gitops-dsf render` does."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="gitops-dsf-world-") as folder:
        root = Path(folder) / "fleet"
        write(source.files, root)
        with mock.patch.object(scorerlist, "MAX_PART_BYTES", PART_BYTES):
            result = produce(root)
        errors = [each for each in result.diagnostics if each.severity is Severity.ERROR]
        assert result.tree is not None, errors
        objects: dict[tuple[str, str, str], Object] = {}
        documents: list[Object] = []
        config = ""
        for path in result.tree.files:
            if not path.endswith(".yaml"):
                continue
            item = yamlfast.load(result.tree.read(path))
            documents.append(item)
            meta = item["metadata"]
            if meta["name"] == "gitops-dsf-reconciler" and item["kind"] == "ConfigMap":
                config = next(iter(item["data"].values()))
            if item["kind"] in PLURALS:
                objects[PLURALS[item["kind"]], meta.get("namespace", ""), meta["name"]] = item
        file = Path(folder) / "gitops-dsf.yaml"
        file.write_text(config)
        return RenderedFleet(
            objects=objects,
            spec=settings.read(file),
            policies=of_programs(documents),
            config=config,
        )


def write(files: Mapping[str, bytes], root: Path) -> None:
    """Writes the files of a repository."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def _path(item: Mapping[str, Any]) -> str:
    """The file of a document in the repository."""
    return f"{FOLDER_OF_KIND[item['kind']]}/{item['metadata']['name']}.yaml"


def _documents(source: Sources) -> fleets.FleetSources:
    spec: dict[str, Any] = {
        "git": {"url": "https://git.example.com/team/fleet.git"},
        "reconciler": {
            "state": {"enabled": True},
            "journal": {"enabled": True, "intervalSeconds": 60},
            "gitSecret": {"name": "git"},
            "proposals": {
                "kinds": ["Locks", "Inventory"],
                "forge": "GitHub",
                "forgeURL": f"https://{FORGE_HOST}/api/v3",
            },
        },
    }
    if source.paced:
        spec["pace"] = dict(PACE)
        if source.acknowledged:
            spec["pace"]["acknowledgedStop"] = source.acknowledged
    repository = fleets.document(
        rendering.PRODUCT, "FleetRepository", "fleet", fleets.with_images(spec)
    )
    every: dict[str, Any] = {
        "clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}
    }
    accepted = {"hubAcceptsClient": True}
    documents: list[Any] = [
        fleets.document(f"{fleets.OCM}/v1", "ManagedCluster", name, accepted)
        for name in source.clusters
    ]
    documents.append(fleets.document(f"{fleets.OCM}/v1beta2", "ManagedClusterSet", SET, every))
    for name in source.scorers:
        if name == source.by_page:
            documents += _scorer_by_page(name, source)
        else:
            documents.append(_scorer(name, source, on_hub=name in source.central))
    if source.verified:
        documents.append(_scorer(VERIFIER, source, on_hub=False))
    documents += [_application(name, scorer, source) for name, scorer in source.applications]
    documents += [_maintenance(drain) for drain in source.drains]
    return fleets.FleetSources(settings=repository, documents=tuple(documents))


def _scorer(name: str, source: Sources, *, on_hub: bool) -> Object:
    query, host = f"free_points_{name}", f"http://{SOURCE_HOST}:9090"
    more: Object = {}
    source_fields: Object = {"host": host, "params": {"query": query}}
    if on_hub:
        source_fields = {
            "host": f"http://{CENTRAL_HOST}:9090",
            "params": {"query": f"sum by (cluster) ({query})"},
            "clusterLabel": {"name": "cluster"},
        }
        more = {"runsOn": "Hub"}
    spec = {
        "description": "Free points",
        "source": source_fields,
        "scoring": {"type": "Query", "params": {"name": name, "interval": source.interval}},
        "scoreTTLSeconds": 4 * source.interval,
        **more,
    }
    return fleets.document(rendering.DSF, "DynamicScorer", name, spec)


def _scorer_by_page(name: str, source: Sources) -> list[Object]:
    """A scorer with a scoring API, and the lock of its page."""
    url = f"http://{PAGE_HOST}:8000/config"
    spec: Object = {
        "description": "Free points",
        "configURL": url,
        "configSyncMode": "Full",
        "source": {"type": "Prometheus", "host": f"http://{SOURCE_HOST}:9090"},
        "scoreTTLSeconds": 4 * source.interval,
    }
    locked = {"configURL": url, "config": page(name, interval=source.interval)}
    return [
        fleets.document(rendering.DSF, "DynamicScorer", name, spec),
        fleets.document(rendering.PRODUCT, "ScorerLock", name, locked),
    ]


def page(name: str, *, interval: int) -> Object:
    """What the /config page of the scoring API says."""
    return {
        "source": {
            "type": "Prometheus",
            "path": "/api/v1/query_range",
            "params": {"query": f"free_points_{name}", "range": 600, "step": 60},
        },
        "scoring": {"path": "/scoring", "params": {"name": name, "interval": interval}},
    }


def _application(name: str, scorer: str, source: Sources) -> Object:
    placement: Object = {"numberOfClusters": 1, "clusterSets": [SET]}
    if name in source.patient:
        placement["tolerations"] = [
            {
                "key": "cluster.open-cluster-management.io/unreachable",
                "operator": "Exists",
                "tolerationSeconds": TOLERATED_SECONDS,
            }
        ]
    ranking: Object = {"scorer": scorer}
    if source.paced:
        ranking["demand"] = 5
    more: Object = {}
    on_unknown = dict(source.verified).get(name)
    if source.paced and on_unknown is not None:
        check = {"scorer": VERIFIER, "atLeast": MIN_SCORE, "forSeconds": 300}
        more["moves"] = {
            "verify": [check],
            "verifySeconds": 1800,
            "onUnknown": on_unknown,
            "holdSeconds": HOLD_SECONDS,
        }
    return rendering.application(
        name,
        application={"source": {**fleets.SOURCE}, "destinationNamespace": name},
        placement=placement,
        scores=[ranking],
        stickiness=source.stickiness,
        **more,
    )


def _maintenance(drain: MaintenanceDocument) -> Object:
    spec = {
        "action": drain.action.value,
        "clusters": [drain.cluster],
        "start": datetime.fromtimestamp(int(drain.start), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "end": datetime.fromtimestamp(int(drain.end), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    name = f"{drain.action.lower()}-{drain.cluster}-{int(drain.start)}"
    return fleets.document(rendering.PRODUCT, "Maintenance", name, spec)
