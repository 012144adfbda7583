"""A fleet repository of a given size, the same on every run.

All benchmarks of the generator read it. Everything that costs time in a real one is in it: one file
per cluster as `import` writes them, selectors and masks that make a dozen different configurations,
locks, secrets, several expressions in a query, applications with and without extra conditions.
"""

import random
from collections.abc import Iterator
from pathlib import Path

DSF = "dynamic-scoring.open-cluster-management.io/v1alpha1"
OCM = "cluster.open-cluster-management.io"
REGIONS = ("ap-northeast-1", "eu-central-1", "eu-west-1", "us-east-1")
PACED = """\
  pace:
    concurrent: 2
    arrivalsPerCluster: 1
    cooldownSeconds: 3600
"""
TIERS = ("dev", "test", "prod")


def write(
    root: Path,
    *,
    clusters: int,
    scorers: int,
    applications: int,
    regional: bool = True,
    paced: bool = False,
) -> None:
    """Writes the repository into a new folder.

    Applications that are not regional run on all clusters.
    """
    # A seed, so that the figures of two versions can be compared.
    rng = random.Random(1)
    for folder in ("apps", "clusters", "config", "locks", "scorers"):
        (root / folder).mkdir(parents=True, exist_ok=True)

    def file(path: str, text: str) -> None:
        (root / path).write_text(text, encoding="utf-8")

    settings = _settings(clusters, scorers)
    if paced:
        settings += PACED
    file("gitops-dsf.yaml", settings)
    # A set for each region, so a regional application chooses among a quarter of the clusters.
    file("clusters/sets.yaml", "---\n".join(_set(region) for region in REGIONS))
    file("config/masks.yaml", _masks(clusters, scorers))
    for number in range(clusters):
        file(f"clusters/{cluster_name(number)}.yaml", _cluster(number, rng))
    for number in range(scorers):
        file(f"scorers/{scorer_name(number)}.yaml", _scorer(number))
    # Those with configSyncMode Full, whose settings come from their scoring API.
    for number in range(1, scorers, 5):
        file(f"locks/{scorer_name(number)}.yaml", _lock(number))
    for number in range(applications):
        file(f"apps/app-{number:04}.yaml", _application(number, scorers, regional=regional))


def edit_scorer(root: Path) -> None:
    """The edit of a pull request: one scorer's interval, to and fro."""
    path = root / "scorers" / f"{scorer_name(0)}.yaml"
    # To and fro, because each of several runs must find an edit.
    text = path.read_text("utf-8")
    before, after = (60, 90) if "interval: 60" in text else (90, 60)
    path.write_text(text.replace(f"interval: {before}", f"interval: {after}"), encoding="utf-8")


def cluster_name(number: int) -> str:
    return f"{REGIONS[number % len(REGIONS)]}-{number:05}"


def scorer_name(number: int) -> str:
    return f"scorer-{number:03}"


def _settings(clusters: int, scorers: int) -> str:
    # Room for uneven shards: about 900 bytes per scorer and cluster, at most 8 MB and 500 clusters
    # per shard.
    shards = min(100, max(1, clusters // 250, clusters * scorers * 2000 // 8_000_000))
    return f"""\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata:
  name: benchmark
spec:
  git:
    url: https://git.example.com/platform/fleet.git
  output:
    mode: Branch
    shards: {shards}
  allowedHosts: ["*.example.com"]
"""


def _set(region: str) -> str:
    return f"""\
apiVersion: {OCM}/v1beta2
kind: ManagedClusterSet
metadata:
  name: {region}
spec:
  clusterSelector:
    selectorType: ExclusiveClusterSetLabel
"""


def _cluster(number: int, rng: random.Random) -> str:
    region = REGIONS[number % len(REGIONS)]
    return f"""\
apiVersion: {OCM}/v1
kind: ManagedCluster
metadata:
  name: {cluster_name(number)}
  labels:
    {OCM}/clusterset: {region}
    region: {region}
    tier: {TIERS[number % 3]}
    accelerator: "{str(number % 4 == 0).lower()}"
spec:
  hubAcceptsClient: true
status:
  allocatable:
    cpu: "{rng.randint(8, 512)}"
    memory: {rng.randint(16, 2048)}Gi
  clusterClaims:
    - name: platform.open-cluster-management.io
      value: {rng.choice(("AWS", "GCP", "Azure"))}
    - name: kubeversion.open-cluster-management.io
      value: v1.{rng.randint(30, 34)}.{rng.randint(0, 9)}
"""


def _selector(number: int) -> str:
    """Two of ten scorers run on some clusters only."""
    if number % 10 == 3:
        return """\
  clusterSelector:
    matchLabels:
      accelerator: "true"
"""
    if number % 10 == 7:
        return """\
  clusterSelector:
    matchExpressions:
      - key: tier
        operator: In
        values: [test, prod]
"""
    return ""


def _second_query(number: int) -> str:
    """Every fourth scorer asks two expressions."""
    if number % 4:
        return ""
    return f"""\
;
        sum(container_memory_working_set_bytes{{job='node-{number:03}'}}) / sum(machine_memory_bytes)"""  # noqa: E501


def _auth(number: int) -> str:
    """Every second scorer has a token."""
    if number % 2 == 0:
        return ""
    return """\
    auth:
      tokenSecretRef:
        name: prometheus-token
        key: token
"""


def _arguments(number: int) -> str:
    """Every third scorer passes arguments to its scoring API."""
    if number % 3:
        return ""
    return f"""\
    arguments:
      horizonSeconds: {600 + number}
      model: holt
"""


def _scorer(number: int) -> str:
    mode = "None"
    if number % 5 == 1:
        mode = "Full"
    return f"""\
apiVersion: {DSF}
kind: DynamicScorer
metadata:
  name: {scorer_name(number)}
spec:
  description: Headroom number {number}, forecast from the last hour
  configURL: https://scorer-{number:03}.example.com/config
  configSyncMode: {mode}
  source:
    type: Prometheus
    host: http://prometheus-operated.monitoring.svc:9090
    path: /api/v1/query_range
    params:
      query: >-
        avg(rate(node_cpu_seconds_total{{mode="idle", job="node-{number:03}"}}[5m])){_second_query(number)}
      range: 3600
      step: 60
{_auth(number)}  scoring:
    host: https://scorer-{number:03}.example.com
    path: /scoring
    params:
      name: {scorer_name(number)}
      interval: 60
{_arguments(number)}  scoreRange:
    min: 0
    max: 1
{_selector(number)}"""  # noqa: E501


def _lock(number: int) -> str:
    return f"""\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata:
  name: {scorer_name(number)}
spec:
  configURL: https://scorer-{number:03}.example.com/config
  config:
    name: {scorer_name(number)}
    description: Headroom
    scoring:
      path: /scoring
      params:
        name: {scorer_name(number)}
        interval: 60
"""


def masks(clusters: int, scorers: int) -> Iterator[tuple[str, str]]:
    """The clusters and scorers that the masks of such a fleet name."""
    for number in range(min(8, scorers, clusters)):
        # Spread over clusters and scorers: each mask makes one configuration more.
        yield cluster_name(number * 97 % clusters), scorer_name(number * 7 % scorers)


def _masks(clusters: int, scorers: int) -> str:
    items = ""
    for cluster, scorer in masks(clusters, scorers):
        items += f"    - clusterName: {cluster}\n      scoreName: {scorer}\n"
    return f"""\
apiVersion: {DSF}
kind: DynamicScoringConfig
metadata:
  name: dynamic-scoring-config
spec:
  masks:
{items}"""


def _application(number: int, scorers: int, *, regional: bool) -> str:
    sets = ", ".join(REGIONS)
    if regional:
        sets = REGIONS[number % len(REGIONS)]
    condition = ""
    if number % 3 == 0:
        condition = "    clusterSelector:\n      matchLabels:\n        tier: prod\n"
    # Scorers with a selector are not on all of these clusters.
    everywhere = [scorer for scorer in range(scorers) if not _selector(scorer)]
    scores = ""
    for offset in range(min(1 + number % 3, len(everywhere))):
        scorer = everywhere[(number + offset) % len(everywhere)]
        scores += f"    - scorer: {scorer_name(scorer)}\n      weight: 1\n"
    return f"""\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata:
  name: app-{number:04}
spec:
  application:
    source:
      repoURL: https://git.example.com/apps/app-{number:04}.git
      path: deploy
      targetRevision: main
    destinationNamespace: app-{number:04}
  placement:
    numberOfClusters: {1 + (number % 5 == 0)}
    clusterSets: [{sets}]
{condition}  scores:
{scores}  stickiness: 10
"""
