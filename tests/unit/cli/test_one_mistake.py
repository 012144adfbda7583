"""One mistake in the repository that `init` writes: the line that is wrong, and no other finding."""

import re
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main

REPOSITORY = "https://git.internal/platform/fleet.git"


@pytest.fixture
def fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "fleet"
    assert (
        main(
            [
                "init",
                str(folder),
                "--with",
                "examples",
                "--git-url",
                REPOSITORY,
                "--registry",
                "registry.internal/dsf",
            ]
        )
        == 0
    )
    capsys.readouterr()
    return folder


def edit(fleet: Path, file: str, old: str, new: str) -> None:
    text = (fleet / file).read_text()
    assert text.count(old) == 1
    (fleet / file).write_text(text.replace(old, new))


def validate(fleet: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = main(["validate", str(fleet)])
    lines = capsys.readouterr().out.replace(f"{fleet}/", "").splitlines()
    return code, [line.strip() for line in lines]


CPU, SETTINGS, APP = "scorers/cpu-headroom.yaml", "gitops-dsf.yaml", "apps/guestbook.yaml"
UNCLOSED = "error DSF001: the quote that opens here is not closed: the fields below are part of its text"


@pytest.mark.parametrize(
    ("file", "old", "new", "finding", "hint"),
    [
        (
            CPU,
            "avg(rate(",
            "avg(ratee(",
            "error DSF110: PromQL: the function ratee is not known",
            "did you mean rate?",
        ),
        (
            CPU,
            "scoreRange:",
            "scorerange:",
            "error DSF013: scorerange is not a field of spec",
            "did you mean scoreRange?",
        ),
        (CPU, "description: Idle", 'description: "Idle', UNCLOSED, "close it on its line"),
        (
            SETTINGS,
            "shards: 1",
            "shards: two",
            'error DSF015: spec.output.shards must be a whole number, not the text "two"',
            (
                "shards: Number of works-NN directories; a cluster's directory depends on its name and this"
                " number only"
            ),
        ),
        (
            SETTINGS,
            "agent: {image: registry",
            "agent: {image: https://registry",
            (
                "error DSF016: spec.agent.image: https://registry.internal/dsf/gitops-dsf-agent:0.1.0 is not"
                " allowed"
            ),
            "write a container image such as registry.example.com/agent:1.0, without a scheme",
        ),
        (
            SETTINGS,
            "image: registry.internal/dsf/gitops-dsf-reconciler",
            "image: https://registry.internal/dsf/gitops-dsf-reconciler",
            (
                "error DSF016: spec.reconciler.image:"
                " https://registry.internal/dsf/gitops-dsf-reconciler:0.1.0 is not allowed"
            ),
            "write a container image such as registry.example.com/agent:1.0, without a scheme",
        ),
        (
            SETTINGS,
            REPOSITORY,
            "https://github.com/acme/fleet/tree/main",
            (
                "error DSF016: spec.git.url: https://github.com/acme/fleet/tree/main is a page to look at:"
                " write https://github.com/acme/fleet.git, and targetRevision: main"
            ),
            "",
        ),
        (
            SETTINGS,
            REPOSITORY,
            "https://git.example.com/platform/fleet.git",
            (
                "warning DSF175: spec.git.url is https://git.example.com/platform/fleet.git, which init wrote"
                " as an example: Argo CD finds no repository there"
            ),
            "write the URL that Argo CD clones",
        ),
        (
            APP,
            "https://github.com/argoproj/argocd-example-apps.git",
            "https://gitlab.com/acme/apps/-/tree/main",
            (
                "error DSF336: https://gitlab.com/acme/apps/-/tree/main is a page to look at, and nothing"
                " that Argo CD could fetch"
            ),
            "write repoURL: https://gitlab.com/acme/apps.git, and targetRevision: main",
        ),
    ],
)
def test_a_mistake_is_told_where_it_is_and_alone(
    fleet: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, finding: str, hint: str
) -> None:
    edit(fleet, file, old, new)
    line = next(n for n, text in enumerate((fleet / file).read_text().splitlines(), 1) if new in text)
    code, lines = validate(fleet, capsys)
    assert [re.sub(r":\d+: ", ": ", lines[0], count=1), *lines[1:]] == [
        f"{file}:{line}: {finding}",
        *filter(None, [hint]),
    ]
    assert code == int(not finding.startswith("warning"))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (CPU, "avg(rate(", "avg(irate("),
        (CPU, "description: Idle", 'description: "Note: idle"\n  # Idle'),
        (CPU, "description: Idle", 'description: "Idle\n    and busy"\n  # Idle'),
        (SETTINGS, "agent: {image: registry", "agent: {image: localhost:5000/registry"),
        (SETTINGS, REPOSITORY, "https://git.internal/team/tree/blob.git"),
        (SETTINGS, REPOSITORY, "git@git.internal:team/tree/main"),
        (SETTINGS, REPOSITORY, "https://git.internal/team/tree"),
        (APP, "https://github.com/argoproj/argocd-example-apps.git", "https://github.com/acme/tree"),
    ],
)
def test_what_only_looks_like_it_is_no_mistake(
    fleet: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str
) -> None:
    edit(fleet, file, old, new)
    assert validate(fleet, capsys) == (0, [])


def test_a_function_of_prometheus_2_and_one_of_another_store_can_be_used(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(fleet, CPU, "avg(rate(", "avg(holt_winters(")
    edit(fleet, CPU, '"}[1h])', '"}[1h], 0.5, 0.5)')
    code, lines = validate(fleet, capsys)
    assert (code, lines) == (
        0,
        [
            f"{CPU}:14:24: warning DSF110: PromQL: holt_winters has another name since Prometheus 3",
            "write double_exponential_smoothing",
        ],
    )
    edit(fleet, CPU, "avg(holt_winters(", "avg(range_median(")
    assert validate(fleet, capsys)[0] == 1
    edit(fleet, CPU, "    params:\n      query", "    dialect: MetricsQL\n    params:\n      query")
    assert validate(fleet, capsys)[0] == 0


def test_init_refuses_the_page_of_a_forge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = "https://github.com/acme/fleet/tree/main"
    assert main(["init", str(tmp_path / "fleet"), "--git-url", page]) == 2
    assert f"{page!r} is not a git URL" in capsys.readouterr().err


WIDE = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: wide}
spec:
  description: everything
  configURL: CONFIG
  configSyncMode: None
  source: {host: "http://prom.svc:9090", params: {query: '{__name__=~".+"}', range: 60, step: 60}}
  scoring: {params: {name: wide, interval: 60}}
"""


@pytest.mark.parametrize(
    ("url", "settings", "told"),
    [
        ("https://evil.example.com/config", "", "evil.example.com"),
        ("https://203.0.113.7/config", "", "203.0.113.7"),
        ("https://evil.example.com/config", "  allowedHosts: ['*.corp.example.com']\n", "evil.example.com"),
        ("https://api.corp.example.com/config", "  allowedHosts: ['*.corp.example.com']\n", ""),
        ("https://forecast.scoring.example.com/config", "", ""),  # tokens may go there
        ("http://scorer.scoring.svc:8000/config", "", ""),
        ("http://scorer:8000/config", "", ""),
    ],
)
def test_metrics_that_leave_the_clusters_are_a_notice(
    fleet: Path, capsys: pytest.CaptureFixture[str], url: str, settings: str, told: str
) -> None:
    (fleet / "scorers/wide.yaml").write_text(WIDE.replace("CONFIG", url))
    edit(fleet, SETTINGS, "  hubNamespace:", f"{settings}  hubNamespace:")
    assert main(["validate", "--strict", str(fleet)]) == 0
    printed = capsys.readouterr().out.replace(f"{fleet}/", "")
    if not told:
        assert printed == ""
        return
    assert printed == (
        f"scorers/wide.yaml:9:3: notice DSF176: everything that the query finds is sent to {told}, outside of"
        f" the clusters\n    if that is meant, add {told} to spec.allowedHosts in gitops-dsf.yaml\n"
    )


@pytest.mark.parametrize(
    ("namespace", "owner"),
    [
        ("kube-system", "Kubernetes"),
        ("open-cluster-management-agent", "Open Cluster Management"),
        ("gitops", "Argo CD"),
        ("hub-scoring", "the reconciler and Open Cluster Management"),
        ("dynamic-scoring", "the agent"),
        ("argocd", ""),
        ("default", ""),
        ("guestbook", ""),
        ("kubeflow", ""),
    ],
)
def test_an_application_in_a_namespace_of_the_platform_is_a_warning(
    fleet: Path, capsys: pytest.CaptureFixture[str], namespace: str, owner: str
) -> None:
    edit(fleet, SETTINGS, "hubNamespace: open-cluster-management", "hubNamespace: hub-scoring")
    edit(fleet, SETTINGS, "namespace: argocd", "namespace: gitops")
    edit(fleet, APP, "destinationNamespace: guestbook", f"destinationNamespace: {namespace}")
    raw = fleet / "apps/raw-guestbook.yaml"
    raw.write_text(
        raw.read_text()
        .replace("namespace: argocd", "namespace: gitops")
        .replace("        namespace: raw-guestbook", f"        namespace: {namespace}")
    )
    code, lines = validate(fleet, capsys)
    said = [line.partition(": ")[2] for line in lines if "DSF" in line]
    assert code == 0
    assert said == [
        f"warning DSF341: {name} is deployed into {namespace}, the namespace of {owner}"
        for name in ("guestbook", "raw-guestbook")
        if owner
    ]
