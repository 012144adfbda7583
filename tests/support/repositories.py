"""Small fleet repositories as text, and what `validate` finds about them."""

from functools import lru_cache

from gitops_dsf import resolve
from gitops_dsf.diagnostics import Diagnostic, has_errors
from gitops_dsf.plan.fleet import CheckedFleet, plan
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve.context import context_of

AGENT_IMAGE = ", agent: {image: r.example.com/agent}"
IMAGES = f"{AGENT_IMAGE}, reconciler: {{image: r.example.com/reconciler}}"
"""Images of a registry, in gitops-dsf.yaml below."""
BASE = {
    "gitops-dsf.yaml": (
        f"""\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {{name: fleet}}
spec: {{git: {{url: "https://git.example.com/fleet.git"}}{IMAGES}}}
"""
    ),
    "clusters/c.yaml": (
        """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: prod-1, labels: {env: prod}}
"""
    ),
    "scorers/s.yaml": (
        """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  configURL: http://api.svc:8000/config
  configSyncMode: None
  scoring: {params: {name: cpu_score, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""
    ),
}


def declared(**changes: str) -> Declared:
    """Of a fleet with these texts in place of those of BASE, or in further folders."""
    names = {
        "settings": "gitops-dsf.yaml",
        "clusters": "clusters/c.yaml",
        "scorers": "scorers/s.yaml",
    }
    texts = {**BASE, **{names.get(key, f"{key}/x.yaml"): text for key, text in changes.items()}}
    loaded = [_loaded(text, file) for file, text in texts.items()]
    everything = Loaded(
        documents=tuple(document for part in loaded for document in part.documents),
        diagnostics=tuple(item for part in loaded for item in part.diagnostics),
    )
    return declare(everything)


@lru_cache(maxsize=256)
def _loaded(text: str, file: str) -> Loaded:
    """Most cases of a table have most texts in common."""
    return load_text(text, file=file)


def findings(**changes: str) -> list[Diagnostic]:
    return resolve.findings(context_of(declared(**changes)))


def findings_of(code: str, **changes: str) -> list[Diagnostic]:
    """The findings of one code."""
    return [finding for finding in findings(**changes) if finding.code == code]


def checked_fleet(**changes: str) -> CheckedFleet:
    context = context_of(declared(**changes))
    diagnostics = resolve.findings(context)
    assert not has_errors(diagnostics), diagnostics
    return plan(context)


def codes(**changes: str) -> list[str]:
    return [item.code for item in findings(**changes)]


def scorer(old: str, new: str) -> str:
    assert old in BASE["scorers/s.yaml"]
    return BASE["scorers/s.yaml"].replace(old, new)


def masks(text: str) -> str:
    return (
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind:"
        " DynamicScoringConfig\n"
        f"metadata: {{name: dynamic-scoring-config}}\nspec: {{masks: [{text}]}}\n"
    )


def placement(spec: str) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind:"
        " Placement\nmetadata: {name: p,"
        f" namespace: argocd}}\nspec: {spec}\n"
    )


def policy(configurations: str, mode: str = "Exact") -> str:
    steady = "{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: 1}"
    return placement(
        f"{{prioritizerPolicy: {{mode: {mode}, configurations: [{configurations}, {steady}]}}}}"
    )


TEMPLATE = (
    "template: {metadata: {name: a}, spec: {project: a, destination: {name: a}, source: {repoURL:"
    " 'https://git.example.com/a.git', path: a}}}"
)


def application_set(
    generator: str, rest: str = "syncPolicy: {applicationsSync: create-update}"
) -> str:
    spec = f"{{{rest}, {TEMPLATE}, generators: [{generator}]}}"
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name:"
        f" a}}\nspec: {spec}\n"
    )


LABELS = "labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: p}}"
CONFIG = "configMapRef: gitops-dsf-placement-decisions"
MANY_CLUSTER = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:"
    " {{name: c{}, labels:"
    " {{half: h{}}}}}\n"
)
MANY = "---\n".join(MANY_CLUSTER.format(number, number % 2) for number in range(202))

APP = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: web}
spec:
  application: {source: {repoURL: "https://git.example.com/web.git", path: deploy}, destinationNamespace: web}
  placement: {numberOfClusters: 1}
  scores: [{scorer: cpu}]
"""  # noqa: E501
LOCK = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {name: cpu}
spec: {configURL: http://api.svc:8000/config, config: {}}
"""


def beside_upstream(settings: str) -> str:
    """The settings with upstream's agents, and so without ours."""
    upstream = "spec: {delivery: {mode: UpstreamController}, "
    return settings.replace(AGENT_IMAGE, "").replace("spec: {", upstream)


UPSTREAM = beside_upstream(BASE["gitops-dsf.yaml"])


def asking(query: str, *, span: str = "range: 60, ") -> str:
    quote = '"' if "\\n" in query else "'"
    return scorer(
        "  scoreRange: {min: 0, max: 1}\n",
        f"  source: {{host: http://prom:9090, params: {{query: {quote}{query}{quote},"
        f" {span}step: 60}}}}\n",
    )


BARE = scorer("  scoreRange: {min: 0, max: 1}\n", "")
FULL = scorer("configSyncMode: None", "configSyncMode: Full")
BY_QUERY = (
    asking("avg(up)", span="")
    .replace(", step: 60", "")
    .replace("  configURL: http://api.svc:8000/config\n  configSyncMode: None\n", "")
    .replace("scoring: {", "scoring: {type: Query, ")
)
"""A scorer without a scoring API."""


def app(old: str, new: str) -> str:
    assert old in APP
    return APP.replace(old, new)


def listed(text: str) -> list[str]:
    """Values, several on a line."""
    return [value.strip() for line in text.strip().splitlines() for value in line.split(" | ")]
