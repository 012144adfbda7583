"""No input ends in a traceback, a signal or exit code 3: valid repositories, mutilated, in a process of their
own.

Aspects covered: bytes cut, doubled and replaced; nasty words of YAML, PromQL and Kubernetes; values of the
wrong type anywhere; deep nesting; files in any order.
"""

import copy
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_dsf.pipeline import check
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf
from tests.support.laws import examples

FILES = {
    "gitops-dsf.yaml": (
        """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {name: fleet}
spec:
  git: {url: "https://git.example.com/fleet.git"}
  allowedHosts: ["*.example.com"]
  agent: {image: r.example.com/agent}
  reconciler: {image: r.example.com/reconciler}
"""
    ),
    "scorers/scorers.yaml": (
        """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: CPU
  configURL: http://forecast.scoring.svc:8000/config
  configSyncMode: None
  source:
    host: http://prometheus.monitoring.svc:9090
    params:
      query: |
        sum by (node) (rate(container_cpu_usage_seconds_total{pod!=""}[5m])); topk(3, up{job=~"a|b"}) / on (node) group_left (pod) up
      range: 3600
      step: 60
    auth: {tokenSecretRef: {name: token, key: token}}
  scoring:
    params: {name: cpu_score, interval: 60}
    arguments: {horizon: 3600}
  scoreDimensionFormat: "${scoreName}"
  scoreRange: {min: 0, max: 100}
  clusterSelector: {matchExpressions: [{key: env, operator: In, values: [prod, edge]}]}
---
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: power}
spec: {description: Power, configURL: "https://power.example.com/config", configSyncMode: Full}
"""  # noqa: E501
    ),
    "locks/power.yaml": (
        """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {name: power}
spec:
  configURL: https://power.example.com/config
  config: {name: power, scoring: {params: {name: power, interval: 300}}, source: {type: None}}
"""
    ),
    "config/masks.yaml": (
        """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScoringConfig
metadata: {name: dynamic-scoring-config}
spec:
  masks:
  - {clusterName: "edge-*", scoreName: cpu_score}
  - {clusterSelector: {matchLabels: {env: prod}}, scoreName: "pow[e]r"}
"""
    ),
    "clusters/fleet.yaml": (
        """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: prod-1, labels: {env: prod, cluster.open-cluster-management.io/clusterset: eu}}
spec: {taints: [{key: a, effect: NoSelect}]}
status: {clusterClaims: [{name: id.k8s.io, value: x}], allocatable: {cpu: 4, memory: 8Gi}}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: edge-1, labels: {env: edge}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: eu}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {env: prod}}}}
"""
    ),
    "apps/apps.yaml": (
        """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: web}
spec:
  application:
    sources: [{repoURL: "https://git.example.com/web.git", path: deploy}]
    destinationNamespace: web
  placement:
    numberOfClusters: 1
    clusterSets: [eu, global]
    tolerations: [{key: cluster.open-cluster-management.io/unreachable, operator: Exists}]
    decisionGroups: {groups: [{groupName: canary, clusterSelector: {matchLabels: {env: prod}}}], clustersPerDecisionGroup: 25%}
  scores: [{scorer: cpu, weight: 2}]
  stickiness: 10
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: batch, namespace: argocd}
spec:
  clusterSets: [eu]
  numberOfClusters: 2
  predicates:
  - requiredClusterSelector:
      labelSelector: {matchLabels: {env: prod}}
      celSelector: {celExpressions: ["'env' in managedCluster.metadata.labels"]}
  prioritizerPolicy:
    mode: Exact
    configurations:
    - {scoreCoordinate: {type: AddOn, addOn: {resourceName: cpu-score, scoreName: cpu_score}}, weight: 5}
    - {scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: 1}
  tolerations: [{key: a, operator: Exists}]
  decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 3, decisionGroups: [{groupName: first, groupClusterSelector: {labelSelector: {}}}]}}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: batch, namespace: argocd}
spec:
  syncPolicy: {applicationsSync: create-update}
  generators:
  - matrix:
      generators:
      - clusterDecisionResource:
          configMapRef: gitops-dsf-placement-decisions
          labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: batch}}
  template: {metadata: {name: "batch-{{ .name }}"}, spec: {project: default, destination: {namespace: batch}}}
"""  # noqa: E501
    ),
}

WORDS = [
    *(
        "[",
        "]",
        "{",
        "}",
        "- ",
        "? ",
        ": ",
        "#",
        "&a ",
        "*a",
        "!!binary ",
        "!x ",
        "|",
        ">-",
        "'",
        '"',
        "%YAML 1.1\n",
        "---\n",
        "...\n",
        "\t",
    ),
    *(
        "\x00",
        "\ufeff",
        "\u2028",
        "\x85",
        "\r",
        "\ud7ff",
        "\U0010ffff",
        "\\",
        '"\\ud800"',
        '"\\x0"',
        "<<: *a\n",
        "null",
        "~",
        "yes",
        "017",
    ),
    *(
        "1e999",
        "-.inf",
        "0x",
        "9" * 400,
        "1_0",
        "[" * 200,
        "{a: " * 200,
        "- " * 200,
        "? " * 200,
        "(" * 200,
        "&a [*a]",
        "${",
        "${}",
        "${a${b}",
    ),
    *(
        ";",
        "sum(",
        "[5m",
        "{a=",
        "http://[",
        "http://a:b",
        "http://a:999999",
        "*",
        "[!",
        "[z-a]",
        "a" * 70_000,
        "$",
        "(?P<",
        "\n",
        "  ",
        "",
    ),
]
VALUES: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        10**30,
        1.5,
        float("inf"),
        "",
        "x",
        "*",
        "[",
        "\n",
        "a" * 300,
        [],
        {},
        [None],
        [[]],
        {"": None},
        {"a": [{}]},
        "2001-01-01",
    ),
    *(
        "None",
        "Full",
        "http://",
        "http://[::1",
        "https://u:p@h/",
        "${nope}",
        "sum(",
        "a;b;",
        "-5%",
        "101%",
        ["x", 1, None],
        {"key": "a b"},
    ),
    *(
        {"matchLabels": 3},
        {"matchLabels": {"/": "/"}},
        {"matchExpressions": [3]},
        {"matchExpressions": [{"key": 1, "operator": []}]},
    ),
]


def cut(generator: random.Random, text: str) -> str:
    """Text with a few places mutilated."""
    for _ in range(generator.randint(1, 4)):
        start = generator.randrange(len(text) + 1)
        end = min(len(text), start + generator.choice([0, 0, 1, 3, 20, 200]))
        piece = generator.choice(
            [*WORDS, text[start:end] * 2, text[generator.randrange(len(text) + 1) :][:30]]
        )
        text = text[:start] + piece + text[end:]
    return text


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, value in (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    ):
        yield from places(value, (*path, key))


def bend(generator: random.Random, text: str) -> str:
    """Text whose data has values of the wrong type or shape somewhere."""
    documents = list(yamlfast.load_all(text))
    for _ in range(generator.randint(1, 3)):
        document = generator.choice(documents)
        path = generator.choice([path for path in places(document) if path] or [()])
        if not path:
            continue
        parent = document
        for part in path[:-1]:
            parent = parent[part]
        value = copy.deepcopy(generator.choice(VALUES))
        if generator.random() < 0.2 and isinstance(parent, dict):
            parent[generator.choice(["Source", "endpoint", "mask", "query", "name", "x", 1, None, True])] = (
                value
            )
        elif generator.random() < 0.2:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
    return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True)


def mutilated(seed: int, root: Path) -> None:
    generator = random.Random(seed)
    victims = generator.sample(sorted(FILES), generator.choice([1, 1, 2, 6]))
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        change = generator.choice([cut, bend]) if name in victims else None
        path.write_bytes((change(generator, text) if change else text).encode("utf-8", "surrogatepass"))


CHILD = """
import contextlib, io, sys
from gitops_dsf.cli.main import main
for folder in sys.argv[1:]:
    print(folder, flush=True)
    for verb in (["validate", folder, "-o", "sarif", "--debug"], ["validate", "--fix", "--debug", folder]):
        with contextlib.redirect_stdout(io.StringIO()):
            code = main(verb)
        if code not in (0, 1):
            sys.exit(f"{verb} ended with {code}")
"""


def run(seeds: list[int], root: Path) -> None:
    folders = [root / str(seed) for seed in seeds]
    for seed, folder in zip(seeds, folders, strict=True):
        shutil.rmtree(folder, ignore_errors=True)
        mutilated(seed, folder)
    result = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, folders)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    last = result.stdout.splitlines()[-1:]
    assert result.returncode == 0, f"{last} ended with {result.returncode}:\n{result.stderr[-3000:]}"
    assert "Traceback" not in result.stderr


def test_the_repository_that_is_mutilated_is_valid(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [str(item) for item in check(tmp_path).diagnostics] == []


@settings(examples(1), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seeds=st.lists(st.integers(0, 2**32), min_size=40, max_size=40, unique=True))
def test_mutilated_repositories_end_in_findings(seeds: list[int], tmp_path: Path) -> None:
    run(seeds, tmp_path)


BREAKS = ["\ufeff\ufeff", "\u2028", "a:\r", "a:\x85", "? k\n: ", "- # c\n - "]
"""Ways to the start of a line that a careless measure of nesting would miss."""


@pytest.mark.parametrize(
    "text",
    [
        *(start + "- " * 100_000 for start in BREAKS),
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 100_000,
        "? " * 50_000,
        "&a [" * 50_000,
        '"' * 100_000,
        "a: " * 50_000,
    ],
)
def test_deep_nesting_is_a_finding(text: str, tmp_path: Path) -> None:
    (tmp_path / "scorers").mkdir()
    (tmp_path / "scorers" / "deep.yaml").write_text(text)
    result = gitops_dsf("validate", tmp_path)
    assert result.returncode == 1, result.stderr
    assert "DSF0" in result.stdout


@pytest.mark.parametrize(
    "query",
    [
        "(" * 50_000 + "x" + ")" * 50_000,
        "-" * 50_000 + "x",
        "+".join(["x"] * 50_000),
        "abs(" * 50_000 + "x" + ")" * 50_000,
    ],
)
def test_deep_promql_is_a_finding(query: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = tmp_path / "scorers" / "scorers.yaml"
    lines = path.read_text().splitlines()
    path.write_text(
        "\n".join(f"        {query}" if line.strip().startswith("sum by") else line for line in lines)
    )
    result = gitops_dsf("validate", tmp_path)
    assert result.returncode == 1, result.stderr
    assert "DSF109" in result.stdout


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "!" * 50_000 + "true",
            "-" * 50_000 + "1",
            "(" * 50_000 + "1" + ")" * 50_000,
            "[" * 50_000,
            "{1: " * 50_000,
            "a" + ".a" * 30_000,
        ),
        *(
            "true ? " * 20_000,
            " && ".join(["true"] * 12_000),
            "+".join(["1"] * 40_000),
            "[1].all(x, " * 190 + "true" + ")" * 190,
        ),
        *(
            "a" + "[0]" * 190,
            "'" * 50_000,
            "\\" * 50_000,
            "a" * 400_000,
            "9" * 50_000,
            "'a'.find('" + "(" * 190 + "')",
            "@" * 50_000,
        ),
    ],
    ids=range(17),
)
def test_deep_cel_does_no_harm(expression: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = tmp_path / "apps" / "apps.yaml"
    quoted = expression.replace("'", "''")
    path.write_text(
        path.read_text().replace("[\"'env' in managedCluster.metadata.labels\"]", f"['{quoted}']")
    )
    result = gitops_dsf("validate", tmp_path)
    assert result.returncode in {0, 1}, result.stderr
    assert "Traceback" not in result.stderr
    assert set(re.findall(r"DSF\d{3}", result.stdout)) <= {"DSF324"}


def test_findings_do_not_depend_on_hash_seed_locale_or_timezone(tmp_path: Path) -> None:
    folders = [tmp_path / str(seed) for seed in range(8)]
    for seed, folder in enumerate(folders):
        mutilated(seed, folder)
    script = (
        "import sys; from gitops_dsf.cli.main import main; [main(['validate', '-o', 'json', folder])"
        " for folder in sys.argv[1:]]"
    )

    def report(**environment: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", script, *map(str, folders)],
            capture_output=True,
            encoding="utf-8",
            check=True,
            env={**os.environ, "PYTHONUTF8": "1", **environment},
        )
        return result.stdout

    assert report(PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC") == report(
        PYTHONHASHSEED="2", LC_ALL="C.UTF-8", TZ="Asia/Kathmandu"
    )


@settings(examples(25))
@given(data=st.binary(max_size=400))
def test_any_bytes_load(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    resolved, _ = resolve(declare(load_text(text, file="scorers/any.yaml")))
    assert resolved is None


@settings(examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_names_of_files_do_not_matter(data: st.DataObject, tmp_path: Path) -> None:
    """Documents dealt out to files of any name resolve to the same repository."""
    shutil.rmtree(tmp_path)
    reference = tmp_path / "reference"
    shuffled = tmp_path / "shuffled"
    for name, text in FILES.items():
        folder, _, _ = name.rpartition("/")
        for root in (reference, shuffled):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (reference / name).write_text(text)
        if not folder:
            (shuffled / name).write_text(text)
            continue
        names = data.draw(st.permutations(range(len(text.split("---\n")))))
        for number, document in zip(names, text.split("---\n"), strict=True):
            (shuffled / folder / f"{number}.yaml").write_text(document)

    def bare(root: Path) -> str:
        resolved = check(root).resolved
        assert resolved is not None
        return re.sub(r"Position\([^)]*\)", "", repr(resolved))

    assert bare(reference) == bare(shuffled)
