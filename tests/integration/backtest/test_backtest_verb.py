"""`gitops-dsf backtest`.

A fleet of two clusters, a store on loopback, and a month in which one was noisy.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.hub.controlplane.gitrepository import git
from tests.integration.backtest.formats import Formats, formats
from tests.support import yamlfast
from tests.support.agent.certificates import Authority
from tests.support.commandline import gitops_dsf
from tests.support.kept import copied
from tests.support.metricstore import FakeMetricStore, Value, answer_of, matrix
from tests.support.pageserver import ConfigPageServer, says

START = 1_780_272_000  # 2026-06-01T00:00:00Z
SPAN = ("--from", "2026-06-01T00:00:00Z", "--to", "2026-06-02T00:00:00Z")
DAY = 86_400


def _steady(at: float) -> float:
    return 50.0


def _noisy(at: float) -> float:
    """Six points above and below the other cluster, in turn, from noon on."""
    if at < START + DAY / 2:
        return 40.0
    return 50.0 + (12 if (at // 600) % 2 else -12)


SCORES: dict[tuple[str, str], Value] = {("idle", "eu"): _steady, ("idle", "us"): _noisy}


def _fleet(root: Path, **how: Any) -> Path:
    """Clusters, a Query scorer and an application, as `_write` makes them."""
    copied(
        root,
        key=("backtest", repr(sorted(how.items()))),
        make=lambda folder: _write(folder, **how),
    )
    return root


def _write(
    root: Path,
    *,
    stickiness: int,
    query: str = "avg(idle)",
    on_missing: str = "Neutral",
    cluster_label: str = "",
    clusters: tuple[str, ...] = ("eu", "us"),
    count: int = 1,
    weight: int = 1,
    score_range: Mapping[str, int] | None = None,
) -> None:
    dsf, ocm = (
        "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "cluster.open-cluster-management.io",
    )
    for folder in ("clusters", "scorers", "apps"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as made:
        settings = gitops_dsf(
            "init", made, "--name", "made", "--git-url", "https://git.example.com/fleet.git"
        )
        assert settings.returncode == 0, settings.stderr
        (root / "gitops-dsf.yaml").write_text(Path(made, "gitops-dsf.yaml").read_text())
    inventory = [
        {
            "apiVersion": f"{ocm}/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {f"{ocm}/clusterset": "all"}},
            "spec": {"hubAcceptsClient": True},
        }
        for name in clusters
    ]
    members = {
        "apiVersion": f"{ocm}/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": "all"},
    }
    (root / "clusters" / "all.yaml").write_text(yamlfast.dump(*inventory, members))
    scorer = {
        "apiVersion": dsf,
        "kind": "DynamicScorer",
        "metadata": {"name": "idle"},
        "spec": {
            "description": "idle CPU in percent",
            "source": {
                "type": "Prometheus",
                "host": "http://prometheus.monitoring.svc:9090",
                "params": {"query": query},
            },
            "scoreRange": {"min": 0, "max": 100, **(score_range or {})},
            "scoring": {"type": "Query", "params": {"name": "idle", "interval": 60}},
        },
    }
    if cluster_label:
        spec: dict[str, Any] = scorer["spec"]  # type: ignore[assignment]
        spec |= {"runsOn": "Hub"}
        spec["source"] |= {"clusterLabel": {"name": cluster_label}}
        spec["source"]["params"]["query"] = (
            query if "by (" in query else f"avg by ({cluster_label}) (idle)"
        )
    (root / "scorers" / "idle.yaml").write_text(yamlfast.dump(scorer))
    (root / "apps" / "portal.yaml").write_text(
        "apiVersion: gitops-dsf.io/v1alpha1\n"
        "kind: ScoredApplication\n"
        "metadata: {name: portal}\n"
        "spec:\n"
        f"  placement: {{clusterSets: [all], numberOfClusters: {count}}}\n"
        f"  scores: [{{scorer: idle, weight: {weight}}}]\n"
        f"  stickiness: {stickiness}  # of the weighted mean\n"
        f"  onMissingScore: {on_missing}\n"
        "  application:\n"
        "    source:"
        " {repoURL: https://git.example.com/portal.git, path: deploy, targetRevision: main}\n"
        "    destinationNamespace: portal\n"
    )
    checked = gitops_dsf("validate", root)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _commit(fleet: Path) -> None:
    for words in (["init", "-b", "main"], ["add", "."], ["commit", "-m", "fleet"]):
        git(*words, folder=fleet)


def _edit(fleet: Path, old: str, new: str) -> None:
    app = fleet / "apps" / "portal.yaml"
    app.write_text(app.read_text().replace(old, new))


def _where(history: FakeMetricStore | Path) -> tuple[str | Path, ...]:
    return (
        ("--prometheus", history.url)
        if isinstance(history, FakeMetricStore)
        else ("--history", history)
    )


def _said(
    fleet: Path, history: FakeMetricStore | Path, *words: str | Path, span: tuple[str, ...] = SPAN
) -> str:
    """What a backtest prints that ends well, of a store or of a file."""
    done = gitops_dsf("backtest", fleet, *_where(history), *span, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _formats(
    fleet: Path, history: FakeMetricStore | Path, *words: str | Path, span: tuple[str, ...] = SPAN
) -> Formats:
    return formats(fleet, *_where(history), *span, *words)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return _fleet(tmp_path / "fleet", stickiness=10)


@pytest.fixture
def store() -> Iterator[FakeMetricStore]:
    with FakeMetricStore(scores=SCORES) as running:
        yield running


def test_a_noisy_cluster_moves_an_application_back_and_forth(
    fleet: Path, store: FakeMetricStore
) -> None:
    said = _said(fleet, store, "-o", "json")
    found = json.loads(said)
    [figures] = found["head"]["placements"].values()
    assert figures["moves"] == 72, "one for each ten minutes of the second half"
    assert figures["returns"] == 71
    assert {each["cause"] for each in figures["flapping"]} == {"idle"}
    assert figures["secondsOn"]["eu"] == pytest.approx(DAY * 0.75, rel=0.01)
    assert found["head"]["gaps"] == {}


def test_the_advice_names_file_line_and_value_and_writes_nothing(
    fleet: Path, store: FakeMetricStore
) -> None:
    written = (fleet / "apps" / "portal.yaml").read_text()
    said = _said(fleet, store, "--advise")
    assert (
        "argocd/portal: stickiness 20 instead of 10: 0 moves instead of 72, 0 back and"
        " forth instead of 71;"
        " regret 3.0 instead of 0.0\n"
        "      apps/portal.yaml:7: spec.stickiness: 20 instead of 10\n" in said
    )
    assert written.splitlines()[6] == "  stickiness: 10  # of the weighted mean"
    assert (fleet / "apps" / "portal.yaml").read_text() == written
    rows = [line.split() for line in said.splitlines() if "as written" in line]
    assert [(row[0], row[-1]) for row in rows] == [("20", "recommended"), ("10", "written")]


def test_the_advice_names_the_object_of_its_own_namespace(
    tmp_path: Path, store: FakeMetricStore
) -> None:
    """Two ScoredPlacements have one name, in two namespaces and files."""
    fleet = _fleet(tmp_path / "fleet", stickiness=20)
    for namespace, stickiness in (("a", 20), ("b", 10)):
        (fleet / "apps" / f"{namespace}.yaml").write_text(
            "apiVersion: gitops-dsf.io/v1alpha1\n"
            "kind: ScoredPlacement\n"
            f"metadata: {{name: jobs, namespace: {namespace}}}\n"
            "spec:\n"
            "  placement: {clusterSets: [all], numberOfClusters: 1}\n"
            "  scores: [{scorer: idle}]\n"
            f"  stickiness: {stickiness}\n"
        )
    told = _formats(fleet, store, "--advise")
    assert "  a/jobs: keep stickiness 20: it does not flap" in told.text
    assert (
        "  b/jobs: stickiness 20 instead of 10: 0 moves instead of 72, 0 back and forth"
        " instead of 71;"
        " regret 3.0 instead of 0.0\n"
        "      apps/b.yaml:7: spec.stickiness: 20 instead of 10\n" in told.text
    )
    found = {key: advice["fields"] for key, advice in told.head["advice"].items()}
    assert found["a/jobs"] == []
    assert [(each["file"], each["line"], each["after"]) for each in found["b/jobs"]] == [
        ("apps/b.yaml", 7, 20)
    ]
    page = told.page
    assert "<h2>a/jobs</h2>" in page
    assert "<h2>b/jobs</h2>" in page


def test_nothing_that_is_tried_stops_a_swing_of_all_points(tmp_path: Path) -> None:
    """With a weight of 10, no stickiness above 100 can be expressed, and this swings by 200
    points.
    """
    scores: dict[tuple[str, str], Value] = {
        ("idle", "eu"): lambda at: 100.0 if (at // 1800) % 2 else 0.0,
        ("idle", "us"): lambda at: 0.0 if (at // 1800) % 2 else 100.0,
    }
    fleet = _fleet(tmp_path / "fleet", stickiness=100, weight=10, score_range={"outputMin": -100})
    with FakeMetricStore(scores=scores) as store:
        said = _said(fleet, store, "--advise")
    assert (
        "keep stickiness 100: no setting that was tried stops it from moving back and"
        " forth 47 times"
    ) in said, said
    assert "it does not flap" not in said


def test_a_decision_of_two_clusters(tmp_path: Path) -> None:
    """Of four clusters the two best are chosen, and change places all at once."""
    high, low = (
        (lambda at: 80.0 if (at // 900) % 2 else 20.0),
        (lambda at: 20.0 if (at // 900) % 2 else 80.0),
    )
    values = {"eu": high, "us": high, "ap": low, "sa": low}
    scores = {("idle", name): value for name, value in values.items()}
    fleet = _fleet(tmp_path / "fleet", stickiness=10, clusters=("eu", "us", "ap", "sa"), count=2)
    history = _saved(tmp_path / "history.json", scores=scores)
    said = _said(fleet, history)
    [(moves, back)] = re.findall(r"(\d+) moves[^,]*, (\d+) of them back and forth", said)
    assert int(moves) > 90
    assert int(back) == int(moves) - 1, "the first one goes to where they had not been"
    assert sum(map(int, re.findall(r"(\d+) %", said))) in range(140, 160), "three of four"
    held = _fleet(tmp_path / "held", stickiness=100, clusters=("eu", "us", "ap", "sa"), count=2)
    said = _said(held, history)
    assert "0 moves" in said
    assert "ap 100 %, sa 100 %" in said, "both ran all the time"
    assert "57.7, the sum of 2 clusters" in said, (
        "60 points for each, half of the time, less delays"
    )


def test_two_revisions_side_by_side(tmp_path: Path, store: FakeMetricStore) -> None:
    fleet = _fleet(tmp_path / "fleet", stickiness=20)
    _commit(fleet)
    _edit(fleet, "stickiness: 20", "stickiness: 10")
    told = _formats(fleet, store, "--base", "main")
    assert "72 moves instead of 0, 71 of them back and forth between eu and us (idle)" in told.text
    comment, page = told.comment, told.page
    assert "1 Placement would have decided differently" in comment
    assert "| `argocd/portal` | 72 moves instead of 0" in comment
    assert page.startswith("<!doctype html>")
    anchors = re.findall(r'text-anchor="(\w+)">01 Jun 0[06]:00<', page)
    assert anchors == ["start", "middle"] * 2, "the first time of a chart is not cut at its left"
    assert "argocd/portal as in main" in page
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in page


def test_the_pipeline_adds_a_backtest_to_the_preview(tmp_path: Path) -> None:
    fleet = _fleet(tmp_path / "fleet", stickiness=20)
    _commit(fleet)
    _edit(fleet, "stickiness: 20", "stickiness: 10")
    title = "### What this would have done"

    def log(**variables: str) -> str:
        found = {"GITLAB_CI": "true", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "main", **variables}
        return gitops_dsf("ci", "check", cwd=fleet, environ=found).stdout

    assert title not in log()
    with FakeMetricStore(scores=SCORES, token="s3cret") as store:
        found = log(GITOPS_DSF_PROMETHEUS=store.url, GITOPS_DSF_PROMETHEUS_TOKEN="s3cret")
        assert f"{title}\n\n14.0 days from" in found
        assert "Compared with `main" in found
        refused = log(GITOPS_DSF_PROMETHEUS=store.url)
    assert f"{title}\n\nThe backtest failed. The log of the pipeline says why.\n" in refused


def test_a_changed_query_has_no_past(tmp_path: Path, store: FakeMetricStore) -> None:
    fleet = _fleet(tmp_path / "fleet", stickiness=20)
    _commit(fleet)
    _fleet(fleet, stickiness=20, query="avg(other)")
    told = _formats(fleet, store, "--base", "main")
    assert "not decided after the change" in told.text
    assert (
        "argocd/portal: idle: query changed, so the raw scores of the past are those of"
        " another definition"
    ) in told.text
    assert "- `argocd/portal`: idle: query changed" in told.comment


def test_a_score_of_another_add_on_has_no_past(tmp_path: Path, store: FakeMetricStore) -> None:
    """It is named, and does not count as 0."""
    fleet = _fleet(tmp_path / "fleet", stickiness=20)
    settings = yamlfast.load((fleet / "gitops-dsf.yaml").read_text())
    usage = {"resource": "resource-usage-score", "names": ["gpuClusterAvailable"]}
    settings["spec"]["externalScores"] = [usage]
    (fleet / "gitops-dsf.yaml").write_text(yamlfast.dump(settings))
    (file,) = (fleet / "apps").iterdir()
    [application] = yamlfast.load_all(file.read_text())
    add_on = {"resource": "resource-usage-score", "name": "gpuClusterAvailable"}
    application["spec"]["scores"].append({"addOn": add_on})
    file.write_text(yamlfast.dump(application))
    told = _formats(fleet, store)
    assert (
        "argocd/portal: another add-on publishes resource-usage-score, and no history has what it"
        " published"
    ) in told.text
    assert told.head["placements"] == {}


def test_a_changed_query_on_the_hub_is_evaluated_anew(tmp_path: Path) -> None:
    """The store has the metrics of all clusters, so it can say what the new query would have
    given.
    """
    fleet = _fleet(tmp_path / "fleet", stickiness=10, cluster_label="region")
    _commit(fleet)
    _fleet(fleet, stickiness=10, query="avg by (region) (calm)", cluster_label="region")
    new: dict[str, dict[str, Value]] = {
        "avg by (region) (calm)": {
            "eu": lambda _at: 50.0,
            "us": lambda _at: 80.0,
            "elsewhere": lambda _at: 99.0,
        }
    }
    with FakeMetricStore(scores=SCORES, queries=new, label="region") as store:
        said = _said(fleet, store, "--base", "main", "-o", "json")
    found = json.loads(said)
    [before] = found["base"]["placements"].values()
    [after] = found["head"]["placements"].values()
    assert before["moves"] == 72
    assert after["moves"] == 0
    assert list(after["secondsOn"]) == ["us"]
    assert {question["query"] for question in store.asked} >= {"avg by (region) (calm)"}


IDLE_BY_REGION: dict[str, dict[str, Value]] = {
    "avg by (region) (idle)": {"eu": lambda _at: 50.0, "us": lambda _at: 80.0}
}


def _source(fleet: Path, **fields: Any) -> None:
    file = fleet / "scorers" / "idle.yaml"
    [scorer] = yamlfast.load_all(file.read_text())
    scorer["spec"]["source"] |= fields
    file.write_text(yamlfast.dump(scorer))


def test_parameters_of_a_source_are_sent_with_its_query_alone(tmp_path: Path) -> None:
    """The history of dynamic_score may be in another store, which knows nothing of them."""
    fleet = _fleet(tmp_path / "fleet", stickiness=10, cluster_label="region")
    _commit(fleet)
    _source(fleet, parameters={"namespace": "team-a"})
    with FakeMetricStore(scores=SCORES, queries=IDLE_BY_REGION, label="region") as store:
        found = json.loads(_said(fleet, store, "--base", "main", "-o", "json"))
    [after] = found["head"]["placements"].values()
    assert list(after["secondsOn"]) == ["us"]
    asked = {(question["query"], question.get("namespace")) for question in store.asked}
    assert ("avg by (region) (idle)", "team-a") in asked
    assert {namespace for query, namespace in asked if "dynamic_score" in query} == {None}


@pytest.mark.parametrize(("on_partial", "decided"), [("Fail", False), ("Publish", True)])
def test_a_partial_answer_is_left_out_where_agents_would_fail(
    tmp_path: Path, on_partial: str, decided: bool
) -> None:
    fleet = _fleet(tmp_path / "fleet", stickiness=10, cluster_label="region")
    _commit(fleet)
    _source(fleet, parameters={"namespace": "team-a"}, onPartial=on_partial)
    with FakeMetricStore(
        scores=SCORES, queries=IDLE_BY_REGION, label="region", partial=True
    ) as store:
        said = _said(fleet, store, "--base", "main")
    assert ("not decided after the change" in said) != decided
    assert "the answer is partial (isPartial)" in said
    assert ("the store says that data is missing, and source.onPartial is Fail" in said) != decided


def test_gaps_are_told_and_expire_scores(fleet: Path) -> None:
    """The scores of the better cluster stop for two hours: after their TTL they count as 0."""
    gap = (START + 6 * 3600, START + 8 * 3600)
    scores: dict[tuple[str, str], Value] = {
        ("idle", "eu"): lambda at: None if gap[0] <= at < gap[1] else 80.0,
        ("idle", "us"): lambda _at: 40.0,
    }
    with FakeMetricStore(scores=scores) as store:
        said = _said(fleet, store, "-o", "json")
    head = json.loads(said)["head"]
    [figures] = head["placements"].values()
    assert [(each["left"], each["joined"]) for each in figures["changes"]] == [
        (["eu"], ["us"]),
        (["us"], ["eu"]),
    ]
    assert 900 <= figures["changes"][0]["at"] - gap[0] <= 1700, "the TTL, and at most a resync more"
    assert figures["changes"][1]["at"] == gap[1]
    assert head["gaps"] == {"idle": {"eu": pytest.approx(1 / 12, rel=0.01)}}


def test_the_token_and_headers_go_to_the_store(tmp_path: Path, fleet: Path) -> None:
    (tmp_path / "token").write_text("s3cret-token\n")
    with FakeMetricStore(scores=SCORES, token="s3cret-token") as store:
        given = ("--token-file", tmp_path / "token", "--header", "X-Scope-OrgID: team")
        done = gitops_dsf("backtest", fleet, "--prometheus", store.url, *SPAN, *given)
        assert done.returncode == 0, done.stderr
        assert store.headers[0]["x-scope-orgid"] == "team"
        refused = gitops_dsf("backtest", fleet, "--prometheus", store.url, *SPAN)
    assert refused.returncode == 1
    assert "answered 401; --token-file names a file with a bearer token" in refused.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"s3cret-1\ns3cret-2\n", "has more than one line"),
        (b"s3cret\x07", "has a character that is not allowed in an HTTP header"),
        ("s3cret".encode("utf-16"), "is UTF-16 text; write it as UTF-8"),
        (b"s3cret\xff", "is not UTF-8 text"),
        (b"\n", "is empty"),
        (b"", "is empty"),
    ],
    ids=map(str, range(6)),
)
def test_a_token_file_that_cannot_be_sent_is_refused_and_not_repeated(
    tmp_path: Path, fleet: Path, store: FakeMetricStore, content: bytes, told: str
) -> None:
    token = tmp_path / "token"
    token.write_bytes(content)
    done = gitops_dsf("backtest", fleet, "--prometheus", store.url, *SPAN, "--token-file", token)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"--token-file {token} {told}" in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert store.asked == []


def test_a_byte_order_mark_is_no_part_of_a_token(tmp_path: Path, fleet: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xef\xbb\xbfs3cret-token\r\n")
    with FakeMetricStore(scores=SCORES, token="s3cret-token") as store:
        _said(fleet, store, "--token-file", str(tmp_path / "token"))


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (
            "X-Key:s\u00e9cret",
            "--header X-Key: the value has a character that is not allowed in an HTTP header",
        ),
        ("X-Key:s3cret-1\ns3cret-2", "--header X-Key: the value has more than one line"),
        ("X-Key:", "--header X-Key: the value is empty"),
        ("X Key:s3cret", "--header 'X Key' is not the name of a header"),
        ("X-K\u00e9y:s3cret", "is not the name of a header"),
        ("s3cret", "one --header is not NAME:VALUE"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_and_not_repeated(
    fleet: Path, store: FakeMetricStore, header: str, told: str
) -> None:
    done = gitops_dsf("backtest", fleet, "--prometheus", store.url, *SPAN, "--header", header)
    assert done.returncode == 2, done.stdout + done.stderr
    assert told in done.stderr
    assert "cret" not in done.stdout + done.stderr
    assert store.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://[::1",
        "http://",
        "127.0.0.1:9090",
        "ftp://127.0.0.1",
        "http://a b",
        "http://user:s3cret@127.0.0.1:99999",
    ],
)
def test_what_is_no_url_of_a_store_is_refused(fleet: Path, url: str) -> None:
    done = gitops_dsf("backtest", fleet, "--prometheus", url, *SPAN)
    assert done.returncode == 2, done.stderr
    assert "--prometheus" in done.stderr
    assert "write a URL such as https://prometheus.example.com" in done.stderr
    assert "s3cret" not in done.stderr


def test_the_store_gets_what_its_source_names_in_the_repository(tmp_path: Path) -> None:
    """A token of a token server, a client certificate, and both private CAs, from files."""
    fleet, folder = _fleet(tmp_path / "fleet", stickiness=10), tmp_path / "secrets"
    servers, clients = Authority("servers"), Authority("clients")
    clients.pair(folder / "pair", name="hub")
    for name, key, text in (
        ("client", "client-id", "hub"),
        ("client", "client-secret", "client-s3cret"),
        ("ca", "ca.crt", servers.pem),
    ):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / key).write_text(text)
    logins, store = ConfigPageServer(), FakeMetricStore(scores=SCORES, token="issued-s3cret")
    logins.serve_tls(servers.server(tmp_path / "logins"))
    store.serve_tls(servers.server(tmp_path / "store", client_authority=clients))
    logins.pages["/token"] = says(access_token="issued-s3cret", token_type="Bearer", expires_in=600)
    ca = "caConfigMapRef: {name: ca, key: ca.crt}"
    oauth2 = f"oauth2: {{tokenURL: '{logins.url}/token', clientSecretRef: {{name: client}}, {ca}}}"
    auth = f"auth: {{{oauth2}, {ca}, clientCertificateSecretRef: {{name: pair}}}}"
    scorer, settings = fleet / "scorers" / "idle.yaml", fleet / "gitops-dsf.yaml"
    before = "host: http://prometheus.monitoring.svc:9090\n"
    assert before in scorer.read_text()
    scorer.write_text(scorer.read_text().replace(before, f"host: {store.url}\n    {auth}\n"))
    with logins, store:
        words = ("backtest", fleet, "--prometheus", store.url, *SPAN, "--credentials")
        refused = gitops_dsf(*words, folder)
        assert "add 127.0.0.1 to spec.allowedTokenHosts in gitops-dsf.yaml" in refused.stderr
        settings.write_text(
            settings.read_text().replace("spec:\n", "spec:\n  allowedTokenHosts: [127.0.0.1]\n", 1)
        )
        done = gitops_dsf(*words, folder)
        assert done.returncode == 0, done.stderr
        (folder / "pair" / "tls.crt").unlink()
        missing = gitops_dsf(*words, folder)
        assert missing.returncode == 1
        assert "key 'tls.crt' of Secret 'pair' is needed and cannot be read" in missing.stderr
        elsewhere = gitops_dsf(
            "backtest", fleet, "--prometheus", logins.url, *SPAN, "--credentials", folder
        )
        assert elsewhere.returncode == 2
        assert "names a Secret or a CA in the repository" in elsewhere.stderr
    assert "s3cret" not in refused.stderr + done.stdout + done.stderr + missing.stderr


@pytest.mark.parametrize("base_allows", [True, False])
def test_the_base_says_which_hosts_may_see_a_token(tmp_path: Path, base_allows: bool) -> None:
    """Whoever may write a pull request must not choose who sees the pipeline's Secrets."""
    fleet = _fleet(tmp_path / "fleet", stickiness=10)
    servers = Authority("servers")
    folder = tmp_path / "secrets"
    for name, key, text in (("reader", "token", "s3cret"), ("ca", "ca.crt", servers.pem)):
        (folder / name).mkdir(parents=True)
        (folder / name / key).write_text(text)
    settings = fleet / "gitops-dsf.yaml"
    closed = settings.read_text()
    allowed = closed.replace("spec:\n", "spec:\n  allowedTokenHosts: [127.0.0.1]\n", 1)
    scorer = fleet / "scorers" / "idle.yaml"
    with FakeMetricStore(scores=SCORES, token="s3cret") as store:
        store.serve_tls(servers.server(tmp_path / "store"))
        ca = "caConfigMapRef: {name: ca, key: ca.crt}"
        auth = f"auth: {{tokenSecretRef: {{name: reader, key: token}}, {ca}}}"
        before = "host: http://prometheus.monitoring.svc:9090\n"
        scorer.write_text(scorer.read_text().replace(before, f"host: {store.url}\n    {auth}\n"))
        settings.write_text(allowed if base_allows else closed)
        git("init", "--quiet", "--initial-branch=main", folder=fleet)
        git("add", "--all", folder=fleet)
        git("commit", "--quiet", "--message", "base", folder=fleet)
        settings.write_text(closed if base_allows else allowed)
        words = ("--prometheus", store.url, *SPAN, "--credentials", folder, "--base", "main")
        done = gitops_dsf("backtest", fleet, *words)
        shown = [headers.get("authorization", "") for headers in store.headers]
    if base_allows:
        assert (done.returncode, done.stderr) == (0, "")
        assert shown
        assert set(shown) == {"Bearer s3cret"}
    else:
        assert done.returncode == 1
        assert "add 127.0.0.1 to spec.allowedTokenHosts in gitops-dsf.yaml" in done.stderr
        assert shown == []


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (b"<html>login</html>", 200, "did not answer as Prometheus' /api/v1/query_range does"),
        (b"no such page", 404, "answered 404: no such page"),
        (
            b'{"status":"error","errorType":"bad_data","error":"unknown"}',
            400,
            "answered 400: bad_data: unknown",
        ),
        (b"", 503, "answered 503"),
    ],
)
def test_a_store_without_an_answer_is_told(
    fleet: Path, answer: bytes, status: int, told: str
) -> None:
    with FakeMetricStore(scores={}, answer=answer, status=status) as store:
        done = gitops_dsf("backtest", fleet, "--prometheus", store.url, *SPAN)
    assert done.returncode == 1
    assert told in done.stderr


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "http://prom:9090/graph?g0.expr=secret",
            "--prometheus http://prom:9090/graph is a page for people",
        ),
        ("http://prom:9090/graph?g0.expr=secret", "write http://prom:9090\n"),
        ("http://vm:8481/select/0/vmui/", "write http://vm:8481/select/0/prometheus\n"),
        ("https://g.example.com/explore", "write the URL of the metric store"),
    ],
)
def test_a_page_for_people_is_no_store(fleet: Path, url: str, told: str) -> None:
    done = gitops_dsf("backtest", fleet, "--prometheus", url, *SPAN)
    assert done.returncode == 2
    assert told in done.stderr
    assert "secret" not in done.stderr


def test_a_store_that_is_not_there_is_told(fleet: Path) -> None:
    done = gitops_dsf("backtest", fleet, "--prometheus", "http://127.0.0.1:1", *SPAN)
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr


def _saved(path: Path, *, start: float = START, step: int = 60, scores: Any = None) -> Path:
    path.write_bytes(answer_of(matrix(scores or SCORES, start=start, end=start + DAY, step=step)))
    return path


def test_a_file_gives_the_span(tmp_path: Path, fleet: Path) -> None:
    said = _said(fleet, _saved(tmp_path / "history.json"), span=())
    assert said.startswith("1.0 days from 2026-06-01 00:00 to 2026-06-02 00:00 UTC")
    assert "72 moves" in said
    assert "samples" not in said, "all were used"
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "history.json").read_bytes())
    assert _said(fleet, marked, span=()) == said, "PowerShell writes a byte order mark"
    half = _said(fleet, tmp_path / "history.json", "--days", "0.5", span=())
    assert half.startswith("12.0 hours from 2026-06-01 12:00 to 2026-06-02 00:00 UTC")


@pytest.mark.parametrize("step", [15, 60])
def test_samples_between_points_are_those_of_the_next_point(
    tmp_path: Path, fleet: Path, step: int
) -> None:
    """17 s after each minute, as a store answers a question that does not start at a full
    minute.
    """
    file = _saved(tmp_path / "history.json", start=START + 17, step=step)
    said = _said(fleet, file, "-o", "json", span=())
    [figures] = json.loads(said)["head"]["placements"].values()
    assert figures["moves"] == 71, "the last change lies 17 s after the last point"
    notes = json.loads(said)["notes"]
    count = 2 * (DAY // step + 1)
    assert [note.split(". Used: ")[1].split(" samples")[0] for note in notes] == [
        f"2,880 of {count:,}"
    ]


@pytest.mark.parametrize(
    ("scores", "span", "told"),
    [
        (
            SCORES,
            ("--days", "1", "--to", "2026-07-01T00:00:00Z"),
            "0 of 2,882 samples of idle. The others",
        ),
        (
            {("idle", "prod-eu"): _steady},
            (),
            "0 of 1,441 samples of idle (clusters prod-eu). The others",
        ),
        ({("other", "eu"): _steady}, (), "0 of 0 samples of idle. The others"),
    ],
    ids=["older", "other clusters", "other scores"],
)
def test_a_file_of_which_nothing_is_used_is_an_error(
    tmp_path: Path, fleet: Path, scores: Any, span: tuple[str, ...], told: str
) -> None:
    done = gitops_dsf(
        "backtest", fleet, "--history", _saved(tmp_path / "h.json", scores=scores), *span
    )
    assert done.returncode == 1
    said = done.stderr.replace("\n", " ")
    (tmp_path / "empty.json").write_bytes(answer_of([]))
    empty = gitops_dsf("backtest", fleet, "--history", tmp_path / "empty.json", *SPAN)
    assert empty.returncode == 1
    assert "empty.json has no samples of more than one moment" in empty.stderr.replace("\n", " ")
    assert (
        "h.json has samples from 2026-06-01T00:00:00Z to 2026-06-02T00:00:00Z. Used: " + told
        in said
    )


def test_a_history_that_is_too_large_is_refused_before_the_first_request(
    fleet: Path, store: FakeMetricStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_dsf.metricstore.client.MAX_SAMPLES", 2 * (DAY // 60 + 1))
    assert "72 moves" in _said(fleet, store)
    store.asked.clear()
    later = ("--from", "2026-06-01T00:00:00Z", "--to", "2026-06-02T00:01:00Z")
    done = gitops_dsf("backtest", fleet, "--prometheus", store.url, *later)
    assert done.returncode == 1
    assert "the history has more than 2,882 samples; ask for a shorter time" in done.stderr.replace(
        "\n", " "
    )
    assert store.asked == []


def test_clusters_that_swing_alike_move_if_their_agents_score_at_different_moments(
    tmp_path: Path,
) -> None:
    """Both scores jump in the same minute.

    On a hub the one whose agent comes first is ahead until then.
    """

    def alike(at: float) -> float:
        return 80.0 if (at // 1200) % 2 else 20.0

    fleet = _fleet(tmp_path / "fleet", stickiness=0)
    file = _saved(tmp_path / "h.json", scores={("idle", "eu"): alike, ("idle", "us"): alike})
    told = _formats(fleet, file, "--advise", span=())
    said = told.text
    [(least, most)] = re.findall(r"argocd/portal +0 moves \((\d+) to (\d+)\) ", said)
    assert int(least) == 0
    assert int(most) > 50, "nearly each of the 71 jumps"
    assert (
        "  agents score at moments of their own: the numbers in brackets are the fewest"
        " and the most moves"
        " with four sets of such moments\n" in said
    )
    assert re.findall(r"\(\d+ to \d+\)", said) == [f"({least} to {most})"]
    advice = (
        f"if the agents had scored at other times, up to {most} moves: a larger stickiness may be"
        " better"
    )
    assert advice in said
    again = _said(fleet, file, "--advise", span=())
    assert again == said
    assert told.head["placements"]["argocd/portal"]["movesRange"] == [0, int(most)]


def _since(begins: float, **values: Value) -> dict[tuple[str, str], Value]:
    """Scores that nobody exported before a time."""
    return {
        ("idle", name): (lambda at, value=value: value(at) if at >= begins else None)
        for name, value in values.items()
    }


def test_a_young_store_is_used_from_its_first_score(fleet: Path) -> None:
    """Fourteen days by default, of which it has three hours.

    One cluster joined in the last hour.
    """
    begins = START + 21 * 3600
    scores = _since(begins, eu=_steady, us=_noisy) | {
        ("idle", "us"): lambda at: _noisy(at) if at >= begins + 2.5 * 3600 else None
    }
    with FakeMetricStore(scores=scores) as store:
        for span in (SPAN, ("--days", "3", "--to", SPAN[-1]), ("--to", SPAN[-1])):
            told = _formats(fleet, store, span=span)
            said = told.text
            assert said.startswith(
                "3.0 hours from 2026-06-01 21:00 to 2026-06-02 00:00 UTC, a point every"
                " 60 s; before that,"
                " idle has no scores\n"
            ), said
            assert re.search(r"argocd/portal +4 moves, 3 of them back and forth", said)
            assert "not decided" not in said
    found = told.data
    assert found["span"] == {
        "start": begins,
        "end": START + DAY,
        "step": 60,
        "waitedFor": "idle",
    }
    assert found["head"]["gaps"] == {"idle": {"us": pytest.approx(150 / 181, rel=0.01)}}


def test_a_short_history_gives_no_rate_and_no_advice(tmp_path: Path, fleet: Path) -> None:
    """The moves of a minute say nothing of a day. Of an hour they do, and of less they do not."""

    def told(seconds: int) -> Formats:
        rows = matrix(SCORES, start=START + DAY / 2, end=START + DAY / 2 + seconds, step=60)
        (tmp_path / "history.json").write_bytes(answer_of(rows))
        return _formats(fleet, tmp_path / "history.json", "--advise", span=())

    short = told(3540)
    assert "argocd/portal  5 moves" in short.text
    assert "a day" not in short.text.partition("\n\n")[2].partition("\n")[0]
    assert "advice\n" not in short.text
    too_few = "59.0 minutes of history are too few"
    rule = " for a rate a day and for advice, which need at least an hour\n"
    assert f"  {too_few}{rule}" in short.text
    assert too_few in short.comment
    assert too_few in short.page
    figures, advice = short.head["placements"]["argocd/portal"], short.head["advice"]
    assert (figures["movesPerDay"], advice) == (None, {})
    enough = told(3600)
    assert "a day" in enough.text
    assert "stickiness 20 instead of 10" in enough.text
    assert "too few" not in enough.text
    figures = enough.head["placements"]["argocd/portal"]
    assert figures["movesPerDay"] == pytest.approx(6 * 24, rel=0.05)


def test_the_placement_that_was_asked_for_is_not_proposed(
    tmp_path: Path, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no room for other moments of the agents."""
    monkeypatch.setattr("gitops_dsf.backtest.phases.MAX_CELLS", 10)
    file = _saved(tmp_path / "history.json")
    said = (
        "if the agents had scored at other times, 1 Placement might have moved more or less"
        " often: too large to try here"
    )
    assert f"{said} (--placement asks for one), decided pass by pass, or paced" in _said(
        fleet, file, span=()
    )
    assert f"{said}, decided pass by pass, or paced" in _said(
        fleet, file, "--placement", "portal", span=()
    )


def test_a_cluster_has_one_colour_before_and_after(tmp_path: Path) -> None:
    """The base ranks the lowest score first, so that it runs on another cluster."""
    scores: dict[tuple[str, str], Value] = {
        ("idle", "eu"): lambda at: 80.0 if at < START + 0.7 * DAY else 10.0,
        ("idle", "us"): _steady,
    }
    fleet = _fleet(tmp_path / "fleet", stickiness=10, weight=-1)
    _commit(fleet)
    _edit(fleet, "weight: -1", "weight: 1")
    file = _saved(tmp_path / "history.json", scores=scores)
    page = _said(fleet, file, "--base", "main", "-o", "html", span=())
    legend = re.findall(r'<li class="(c\d)"><i></i>(\w+) <b>', page)
    assert len(legend) == 4, "two clusters on two charts"
    assert len(set(legend)) == 2
    colours = {name: colour for colour, name in legend}
    spans = re.findall(r'<g class="span (c\d)"><title>(\w+) from', page)
    assert {name for _, name in spans} == {"eu", "us"}
    assert all(colours[name] == colour for colour, name in spans)
    assert "<b>1</b><span>move</span>" in page
    assert "<b>1</b><span>Placement with a known past</span>" in page


def _times(chart: str) -> list[str]:
    return re.findall(r'<text class="axis"[^>]* text-anchor="middle">([^<]*)</text>', chart)


def test_the_page_draws_the_stickiness_and_both_revisions_on_one_scale(tmp_path: Path) -> None:
    """Another cluster must get above the dashed line.

    The new revision scores every five minutes.
    """
    fleet = _fleet(tmp_path / "fleet", stickiness=20)
    _commit(fleet)
    _edit(fleet, "stickiness: 20", "stickiness: 10")
    scorer = fleet / "scorers" / "idle.yaml"
    assert scorer.read_text().count("interval: 60") == 1
    scorer.write_text(scorer.read_text().replace("interval: 60", "interval: 7200"))
    file = _saved(tmp_path / "history.json")
    span = ("--from", "2026-06-01T00:30:00Z", "--to", "2026-06-01T23:50:00Z")
    page = _said(fleet, file, "--base", "main", "-o", "html", span=span)
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 2
    assert _times(charts[0]) == _times(charts[1])
    values = [re.findall(r'text-anchor="end">([^<]*)</text>', chart) for chart in charts]
    assert values[0] == values[1]
    assert all('<path class="bound"' in chart for chart in charts)
    assert "to take over: stickiness, 10 points above" in page
    assert "to take over: stickiness, 20 points above" in page
    none = _said(_fleet(tmp_path / "none", stickiness=0), file, "-o", "html", span=())
    assert 'class="bound"' not in none
    assert "to take over" not in none


def test_the_page_has_an_index_of_all_placements(tmp_path: Path) -> None:
    fleet = _fleet(tmp_path / "fleet", stickiness=10)
    app = (fleet / "apps" / "portal.yaml").read_text()
    for number in range(31):
        (fleet / "apps" / f"{number:02}.yaml").write_text(
            app.replace("name: portal", f"name: app-{number:02}")
        )
    file = _saved(tmp_path / "history.json")
    page = _said(fleet, file, "-o", "html", span=())
    index = page.partition("<h2>All Placements</h2>")[2].partition("</section>")[0]
    links = re.findall(r'<a href="#([^"]+)">argocd/[a-z0-9-]+</a>', index)
    assert len(links) == 30
    assert index.count('<tr><th scope="row">') == 32
    assert index.count('<td class="n">72</td><td class="n">71</td>') == 32
    assert "The first 30 have a chart below." in index
    assert all(page.count(f'<section id="{link}">') == 1 for link in links)
    alone = _said(fleet, file, "--placement", "portal", "-o", "html", span=())
    assert "All Placements" not in alone


def test_the_page_says_what_every_colour_means(tmp_path: Path) -> None:
    """Of a decision of two clusters, and of clusters beyond the five that have a colour."""
    places = ("west-1", "west-2", "north-1", "south-1", "east-1", "a")
    names = tuple(f"production-europe-{place}" for place in places)

    def score(at: float, place: int) -> float:
        """Each is the best one for some hours, and the last one for a shorter time."""
        slot, seconds = divmod(at - START, 14_000)
        is_best = slot % 6 == place and (place < 5 or seconds < 5000)
        return 90.0 if is_best else 20.0 if place < 5 else 10.0

    scores: dict[tuple[str, str], Value] = {
        ("idle", name): lambda at, place=place: score(at, place) for place, name in enumerate(names)
    }
    fleet = _fleet(tmp_path / "fleet", stickiness=0, clusters=names, count=2)
    page = _said(fleet, _saved(tmp_path / "history.json", scores=scores), "-o", "html", span=())
    legend = page.partition('<ul class="legend">')[2].partition("</ul>")[0]
    assert re.findall(r'<li class="(c\d)"><i></i>([^<]*?) ?<', legend) == [
        *(
            (f"c{place}", name)
            for place, name in enumerate(re.findall(r"production-[a-z0-9-]+", legend))
        ),
        ("c5", "other clusters, or none"),
    ]
    assert "the bar has the colour of the first of its clusters" in legend
    labels = re.findall(r'class="name c\d"[^>]*><title>([^<]*)</title>([^<]*) \d+</text>', page)
    assert len(labels) == 5
    assert len({text for _, text in labels}) == 5
    assert all(len(text) <= 16 and text.strip("…") in name for name, text in labels)
    spans = set(re.findall(r'<g class="span c\d"><title>([^<]*?) from', page))
    assert all(", " in name for name in spans)


@pytest.mark.parametrize("points", [3, 8, 30])
def test_ticks_are_not_repeated(tmp_path: Path, fleet: Path, points: int) -> None:
    rows = matrix(SCORES, start=START + 1080, end=START + 1080 + 60 * (points - 1), step=60)
    (tmp_path / "history.json").write_bytes(answer_of(rows))
    span = ("--from", "2026-06-01T00:18:00Z", "--to", f"2026-06-01T00:{17 + points}:00Z")
    said = _said(fleet, tmp_path / "history.json", "-o", "html", span=span)
    for chart in re.findall(r"<svg.*?</svg>", said):
        ticks = _times(chart)
        assert len(ticks) >= 3
        assert len(set(ticks)) == len(ticks)


SECOND = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: calm}
spec:
  description: idle CPU of the last hour in percent
  source:
    type: Prometheus
    host: http://prometheus.monitoring.svc:9090
    params: {query: "avg(avg_over_time(idle[1h]))"}
  scoreRange: {min: 0, max: 100}
  scoring: {type: Query, params: {name: calm, interval: 60}}
"""


@pytest.mark.parametrize(
    ("begins", "span"), [(0.3, "16.8 hours from 2026-06-01 07:12"), (0.95, "1.0 days")]
)
def test_both_revisions_are_compared_over_one_span(fleet: Path, begins: float, span: str) -> None:
    """The new score begins after the noise of the first hours, of which the base alone would
    know.
    """

    def early(at: float) -> float:
        return 50.0 + (12 if (at // 600) % 2 else -12) if at < START + 0.2 * DAY else 30.0

    scores: dict[tuple[str, str], Value] = {("idle", "eu"): _steady, ("idle", "us"): early}
    for cluster in ("eu", "us"):
        scores["calm", cluster] = lambda at: 50.0 if at >= START + begins * DAY else None
    (fleet / "scorers" / "calm.yaml").write_text(SECOND)
    _commit(fleet)
    _edit(fleet, "scores: [", "scores: [{scorer: calm, weight: 1}, ")
    with FakeMetricStore(scores=scores) as store:
        said = _said(fleet, store, "--base", "main")
    assert said.startswith(span), said
    if begins < 0.9:
        assert "UTC, a point every 60 s; before that, calm has no scores" in said
        assert "0 moves, as before" in said
    else:
        assert "not decided after the change" in said
        told = "calm begins only at 2026-06-01T22:48:00Z; --from 2026-06-01T22:48:00Z decides"
        assert told in said
    since = ("--from", "2026-06-01T22:48:00Z", "--to", SPAN[-1])
    with FakeMetricStore(scores=scores) as store:
        said = _said(fleet, store, "--base", "main", span=since)
    assert "0 moves, as before" in said
    assert "before that" not in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--days", "0"], "the span ends before it starts"),
        (["--from", "2026-06-01T00:00:00Z", "--days", "3"], "--from and --days are two starts"),
        (["--from", "2026-06-01", "--to", "2026-06-02T00:00:00Z"], "write RFC 3339"),
        (["--days", "100000"], "write a span with 1 to 1,000,000"),
        (["--time-limit", "0"], "--time-limit is a number of seconds above 0"),
        (["--token-file", "missing"], "--token-file missing cannot be read: No such file"),
        (["--placement", "nobody"], "there is no Placement nobody"),
        (["--placement", "nobody", "--scores", "nowhere"], "there is no Placement nobody"),
    ],
)
def test_wrong_usage_is_told(
    fleet: Path, store: FakeMetricStore, words: list[str], told: str
) -> None:
    done = gitops_dsf("backtest", fleet, "--prometheus", store.url, *words)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr.replace("\n", " ")


def test_series_without_the_label_of_the_cluster_are_told(
    fleet: Path, store: FakeMetricStore
) -> None:
    said = _said(fleet, store, "--cluster-label", "cluster_name")
    told = "no series of idle has the label cluster_name; --cluster-label names another one"
    assert said.count(told) == 1


def test_a_time_limit_leaves_out_what_the_store_does_not_answer(fleet: Path) -> None:
    with FakeMetricStore(scores=SCORES, hangs=True) as store:
        said = _said(fleet, store, "--time-limit", "2")
    assert "no Placement ranks by scores whose past is known" in said
    assert "argocd/portal: the time limit was over before the history of idle was read" in said


def test_without_history_nothing_is_decided(fleet: Path) -> None:
    with FakeMetricStore(scores={}) as store:
        said = _said(fleet, store)
    assert "idle has gaps on 2 clusters: eu 100 %, us 100 % of the points are missing" in said
    assert "argocd/portal: the history has no result of idle in this time" in said
    assert "no Placement ranks by scores whose past is known" in said
