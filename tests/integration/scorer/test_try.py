"""`gitops-dsf scorer try`: one cycle of a scorer that is not merged, against servers on loopback.

The servers answer with what stores and scoring APIs answer, and with what hostile ones do.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.cli.scaffold import scaffold
from tests.hub.controlplane.gitrepository import git
from tests.support.agent.certificates import Authority
from tests.support.commandline import gitops_dsf
from tests.support.scorer.stand_in import StandIn, StandInAnswer, StandInRequest

AT = "2026-06-01T08:00:00Z"
AT_SECONDS = "1780300800"
CPU = "scorers/cpu-headroom.yaml"
QUERY = '100 * avg(rate(node_cpu_seconds_total{mode="idle"}[1h]))'
SCORES = """\
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: cpu-headroom, namespace: eu-west-1}
status:
  scores: [{name: cpu-headroom, value: 60}]
  validUntil: 2030-01-01T00:00:00Z
"""
API = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: by-api}
spec:
  description: What an API says
  configSyncMode: None
  configURL: API_URL/config
  source: {host: "http://prometheus.monitoring.svc:9090", params: {query: up, range: 600, step: 60}}
  scoring:
    host: API_URL
    path: /scoring
    params: {name: by-api, interval: 60}
    arguments: {limit: 3}
"""
BY_NODE = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: by-node}
spec:
  description: Of each node
  source:
    host: http://prometheus.monitoring.svc:9090
    params: {query: avg by (node) (idle)}
  scoring: {type: Query, params: {name: by-node, interval: 60}}
  scoreDimensionFormat: ${node}
  scoreRange: {min: 0, max: 100}
"""
ON_HUB = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: central}
spec:
  description: Of a central store
  runsOn: Hub
  source:
    host: http://thanos.monitoring.svc:9090
    params: {query: sum by (cluster) (up)}
    clusterLabel: {name: cluster}
  scoring: {type: Query, params: {name: central, interval: 60}}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    target = tmp_path / "fleet"
    scaffold(target=target, name="fleet", extras=("examples",), registry="registry.example.com")
    edit(target, "gitops-dsf.yaml", "git.example.com/platform/", "git.example.com/ours/")
    return target


def edit(fleet: Path, file: str, old: str, new: str) -> None:
    text = (fleet / file).read_text("utf-8")
    assert old in text
    (fleet / file).write_text(text.replace(old, new), "utf-8")


def commit(fleet: Path) -> None:
    """Makes the fleet a git repository whose first commit, on main, has all its files."""
    git("init", "--quiet", "--initial-branch=main", folder=fleet)
    git("add", "--all", folder=fleet)
    git("commit", "--quiet", "--message", "base", folder=fleet)


class Peer:
    """A metric store, or a scoring API, whose answer the test sets."""

    def __init__(self) -> None:
        self.answer: Callable[[StandInRequest], StandInAnswer] = lambda _asked: vector()
        self._server = StandIn(self._reply)
        self.asked = self._server.asked
        self.url = self._server.url

    def _reply(self, asked: StandInRequest) -> StandInAnswer:
        return self.answer(asked)

    def says(self, given: StandInAnswer) -> None:
        self.answer = lambda _asked: given

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def store() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def api() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


def vector(*rows: tuple[dict[str, str], str], **more: Any) -> StandInAnswer:
    """An answer of Prometheus to an instant query."""
    result = [{"metric": metric, "value": [1_780_300_800, value]} for metric, value in rows]
    data = {"resultType": "vector", "result": result}
    return StandInAnswer(body=json.dumps({"status": "success", "data": data, **more}).encode())


def matrix(*values: str) -> StandInAnswer:
    """An answer of Prometheus to a range query, with one series."""
    points = [[1_780_300_200 + 60 * number, value] for number, value in enumerate(values)]
    data = {"resultType": "matrix", "result": [{"metric": {"node": "a"}, "values": points}]}
    return StandInAnswer(body=json.dumps({"status": "success", "data": data}).encode())


def tried(fleet: Path, name: str, *words: str, code: int = 0) -> dict[str, Any]:
    """The JSON of one trial, which is also printed for people."""
    done = gitops_dsf("scorer", "try", name, *words, "--at", AT, "-o", "json", cwd=fleet)
    assert (done.returncode, done.stderr) == (code, "")
    output: dict[str, Any] = json.loads(done.stdout)
    return output


def text(fleet: Path, name: str, *words: str, code: int = 0) -> str:
    done = gitops_dsf("scorer", "try", name, *words, "--at", AT, cwd=fleet)
    assert (done.returncode, done.stderr) == (code, "")
    assert "\x1b" not in done.stdout
    return done.stdout


def refused(fleet: Path, name: str, *words: str) -> str:
    """What is wrong with this usage."""
    done = gitops_dsf("scorer", "try", name, *words, cwd=fleet)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_query_gives_the_values_that_the_agent_would_publish(fleet: Path, store: Peer) -> None:
    store.says(vector(({}, "37.5")))
    output = tried(fleet, "cpu-headroom", "--prometheus", store.url)
    # 0..100 becomes 1..100: 1 + 37.5 / 100 * 99 = 38.125, which is rounded down.
    assert output["items"] == [
        {
            "cluster": "eu-north-1",
            "name": "cpu-headroom",
            "rawScores": [37.5],
            "aggregate": 37.5,
            "value": 38,
        }
    ]
    assert (output["series"], output["results"], output["clamped"]) == (1, 1, 0)
    assert output["failure"] is None
    assert output["at"] == AT
    assert output["rankedBy"] == ["argocd/guestbook", "argocd/raw-guestbook"]
    (asked,) = store.asked
    assert asked.path.startswith("/api/v1/query?")
    assert f"time={AT_SECONDS}" in asked.path
    assert "authorization" not in asked.headers
    shown = text(fleet, "cpu-headroom", "--prometheus", store.url)
    assert f"query: {QUERY}" in shown
    assert "eu-north-1  cpu-headroom  37.5          38" in shown
    assert "nothing is published" in shown


def test_a_scorer_that_verifies_moves_says_which_of_its_values_would_hold(
    fleet: Path, store: Peer
) -> None:
    (fleet / "scorers" / "by-node.yaml").write_text(BY_NODE)
    edit(fleet, "gitops-dsf.yaml", "spec:\n", "spec:\n  pace: {concurrent: 2}\n")
    moves = (
        "  moves:\n    verify:\n      - {scorer: by-node, dimension: n1, atLeast: 60}\n"
        "      - {scorer: by-node, dimension: n2, noWorseThan: 5}\n"
    )
    edit(fleet, "apps/guestbook.yaml", "  moves:\n", moves)
    store.says(vector(({"node": "n1"}, "30"), ({"node": "n2"}, "90")))
    words = ("by-node", "--prometheus", store.url, "--cluster", "eu-west-1")
    output = tried(fleet, *words)
    assert output["rankedBy"] == []
    assert [verified["placement"] for verified in output["verifies"]] == ["argocd/guestbook"] * 2
    assert output["verifies"][0]["check"]["atLeast"] == 60
    shown = text(fleet, *words)
    assert (
        "\nverifies moves of argocd/guestbook: by-node/n1 at least 60 for 10 min; it would fail on"
        " eu-west-1 (30)\n"
    ) in shown
    assert (
        "\nverifies moves of argocd/guestbook: by-node/n2 at most 5 points worse than before for"
        " 10 min\n"
    ) in shown
    assert "verifies" not in tried(fleet, "cpu-headroom", "--prometheus", store.url)


def test_percent_for_a_range_up_to_1_is_said(fleet: Path, store: Peer) -> None:
    (fleet / "scorers" / "by-node.yaml").write_text(BY_NODE.replace("max: 100", "max: 1"))
    store.says(vector(*(({"node": f"n{number}"}, f"{40 + number}") for number in range(12))))
    output = tried(fleet, "by-node", "--prometheus", store.url, "--cluster", "eu-west-1")
    assert output["clamped"] == 12
    assert output["notes"] == [
        (
            "the scoreRange clamps 12 of 12 raw scores to the value 100: max is 1, and the highest"
            " is 51; the query probably gives percent: write max: 100, or divide the query by 100"
        )
    ]


def test_a_misspelled_metric_is_said_before_the_merge(fleet: Path, store: Peer) -> None:
    output = tried(fleet, "cpu-headroom", "--prometheus", store.url, code=1)
    assert output["failure"]["stage"] == "score"
    assert output["failure"]["reason"] == "no_results"
    assert output["failure"]["message"] == "the query gave no series"
    assert "misspelled metric" in output["failure"]["hint"]
    assert output["items"] == []
    assert "look for a misspelled metric" in text(
        fleet, "cpu-headroom", "--prometheus", store.url, code=1
    )


def test_what_prometheus_says_of_a_query_is_shown(fleet: Path, store: Peer) -> None:
    error = {"status": "error", "errorType": "execution", "error": "many-to-many matching\x1b[31m"}
    store.says(StandInAnswer(status=422, body=json.dumps(error).encode()))
    output = tried(fleet, "cpu-headroom", "--prometheus", store.url, code=1)
    assert output["failure"]["reason"] == "query_execution"
    assert "many-to-many matching" in output["failure"]["message"]
    assert "many-to-many" in text(fleet, "cpu-headroom", "--prometheus", store.url, code=1)


def test_dropped_results_have_their_reason(fleet: Path, store: Peer) -> None:
    (fleet / "scorers" / "by-node.yaml").write_text(BY_NODE)
    store.says(vector(({"node": "a"}, "40"), ({"node": "b"}, "NaN"), ({}, "7")))
    output = tried(fleet, "by-node", "--prometheus", store.url)
    assert output["dropped"] == [
        {"reason": "no_name", "count": 1},
        {"reason": "not_finite", "count": 1},
    ]
    assert [item["name"] for item in output["items"]] == ["a"]
    shown = text(fleet, "by-node", "--prometheus", store.url)
    assert "dropped 1 result: scoreDimensionFormat gives an empty name for their labels" in shown
    assert "dropped 1 result: their score is NaN or infinite" in shown
    assert "the first of them: series 1: score is nan" in shown


def test_several_results_of_one_item_are_aggregated(fleet: Path, store: Peer) -> None:
    edit(fleet, CPU, "  scoreRange:", "  scoreAggregation: Mean\n  scoreRange:")
    store.says(vector(({"zone": "a"}, "20"), ({"zone": "b"}, "40")))
    (item,) = tried(fleet, "cpu-headroom", "--prometheus", store.url)["items"]
    assert (item["rawScores"], item["aggregate"], item["value"]) == ([20, 40], 30, 30)
    assert "30 of 20, 40" in text(fleet, "cpu-headroom", "--prometheus", store.url)


def test_without_series_the_default_score_is_the_value(fleet: Path, store: Peer) -> None:
    edit(fleet, CPU, "  scoreRange:", "  defaultScore: 5\n  scoreRange:")
    output = tried(fleet, "cpu-headroom", "--prometheus", store.url)
    (item,) = output["items"]
    assert (item["rawScores"], item["aggregate"], item["value"]) == ([], None, 5)
    assert "the source has no series, so the value is defaultScore" in output["notes"]


def test_texts_of_the_store_cannot_control_the_terminal(fleet: Path, store: Peer) -> None:
    (fleet / "scorers" / "by-node.yaml").write_text(BY_NODE)
    node = "a\x1b[2J\n::error::x"
    store.says(vector(({"node": node}, "40"), warnings=["\x1b[31mred\n::error::y"]))
    shown = text(fleet, "by-node", "--prometheus", store.url)
    assert "\n::error" not in shown
    assert "the source warns: \\x1b[31mred" in shown
    (item,) = tried(fleet, "by-node", "--prometheus", store.url)["items"]
    assert item["name"] == node


def test_token_and_headers_go_to_the_store_and_into_no_message(
    fleet: Path, store: Peer, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("very-secret-token\n")
    store.answer = lambda asked: StandInAnswer(
        status=401, body=f"no: {asked.headers['authorization']}".encode()
    )
    words = (
        "--prometheus",
        store.url,
        "--token-file",
        str(tmp_path / "token"),
        "--header",
        "X-Scope-OrgID:team-1",
    )
    output = tried(fleet, "cpu-headroom", *words, code=1)
    assert store.asked[0].headers["authorization"] == "Bearer very-secret-token"
    assert store.asked[0].headers["x-scope-orgid"] == "team-1"
    assert output["failure"]["reason"] == "unauthorized"
    assert "very-secret" not in json.dumps(output)


def test_credentials_of_the_scorers_own_source_are_not_sent(fleet: Path, store: Peer) -> None:
    edit(
        fleet,
        CPU,
        "    params:\n      query",
        "    auth: {tokenSecretRef: {name: t, key: t}}\n    params:\n      query",
    )
    edit(fleet, CPU, "http://prometheus-operated", "https://prometheus-operated")
    store.says(vector(({}, "37.5")))
    output = tried(fleet, "cpu-headroom", "--prometheus", store.url)
    assert [item["value"] for item in output["items"]] == [38]
    assert "authorization" not in store.asked[0].headers


@pytest.mark.parametrize(
    ("base_allows", "head_allows", "with_base", "sent"),
    [
        (False, True, False, True),
        (False, True, True, False),
        (True, False, True, True),
        (False, False, False, False),
    ],
)
def test_a_store_sees_credentials_where_git_allows_it(
    fleet: Path,
    tmp_path: Path,
    base_allows: bool,
    head_allows: bool,
    with_base: bool,
    sent: bool,
) -> None:
    """The token and the private CA are those that the source at this URL names."""
    servers = Authority("servers")
    secrets = tmp_path / "secrets"
    for name, key, text in (("reader", "token", "s3cret"), ("ca", "ca.crt", servers.pem)):
        (secrets / name).mkdir(parents=True)
        (secrets / name / key).write_text(text)
    asked: list[StandInRequest] = []

    def answer(given: StandInRequest) -> StandInAnswer:
        asked.append(given)
        return vector(({}, "37.5"))

    server = StandIn(answer, tls=servers.server(tmp_path / "store"))
    url = server.url.replace("localhost", "127.0.0.1")
    auth = (
        "auth: {tokenSecretRef: {name: reader, key: token},"
        " caConfigMapRef: {name: ca, key: ca.crt}}"
    )
    edit(fleet, CPU, "    params:\n      query", f"    {auth}\n    params:\n      query")
    text = (fleet / CPU).read_text()
    (fleet / CPU).write_text(re.sub("http://prometheus-operated[^\n]*", url, text))
    settings = fleet / "gitops-dsf.yaml"
    closed = settings.read_text()
    opened = closed.replace("[forecast.scoring.", "[127.0.0.1, forecast.scoring.", 1)
    settings.write_text(opened if base_allows else closed)
    commit(fleet)
    settings.write_text(opened if head_allows else closed)
    words = ["--prometheus", url, "--credentials", str(secrets)]
    if with_base:
        words += ["--base", "main"]
    done = gitops_dsf("scorer", "try", "cpu-headroom", fleet, *words, "-o", "json")
    server.close()
    if sent:
        assert done.returncode == 0, done.stdout + done.stderr
        assert [item["value"] for item in json.loads(done.stdout)["items"]] == [38]
        assert [given.headers["authorization"] for given in asked] == ["Bearer s3cret"]
    else:
        assert done.returncode == 1
        assert "add 127.0.0.1 to spec.allowedTokenHosts in gitops-dsf.yaml" in done.stderr
        assert asked == []
    assert "s3cret" not in done.stdout + done.stderr


def test_a_scoring_api_is_called_as_the_agent_calls_it(fleet: Path, store: Peer, api: Peer) -> None:
    (fleet / "scorers" / "by-api.yaml").write_text(API.replace("API_URL", api.url))
    store.says(matrix("1", "2", "3"))
    scores = {"results": [{"metric": {"node": "a"}, "score": 70.9}, {"metric": {}, "score": "x"}]}
    api.says(StandInAnswer(body=json.dumps(scores).encode()))
    output = tried(fleet, "by-api", "--prometheus", store.url)
    assert store.asked[0].path.startswith("/api/v1/query_range?")
    (asked,) = api.asked
    request = json.loads(asked.body)
    assert (asked.method, asked.path) == ("POST", "/scoring")
    assert request["data"][0]["values"][-1][1] == "3"
    assert request["arguments"] == {"limit": 3}
    assert [item["value"] for item in output["items"]] == [70]
    assert output["dropped"] == [{"reason": "invalid", "count": 1}]
    assert output["scoring"] == f"{api.url}/scoring"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (StandInAnswer(body=b"<html>"), "invalid_body"),
        (StandInAnswer(body=b'{"results": ' + b"[" * 100_000), "invalid_body"),
        (StandInAnswer(body=b'{"results": [' + b"{}," * 300_000 + b"{}]}"), "too_large"),
        (StandInAnswer(status=302, headers={"Location": "http://169.254.169.254/"}), "redirected"),
        (StandInAnswer(status=500, body=b"\x1b[2J" * 100_000), "server_error"),
        (StandInAnswer(headers={"Content-Length": "99999999"}), "too_large"),
    ],
    ids=["html", "deep", "many", "redirect", "error", "long"],
)
def test_a_hostile_scoring_api_is_a_sentence(
    fleet: Path, store: Peer, api: Peer, answer: StandInAnswer, reason: str
) -> None:
    (fleet / "scorers" / "by-api.yaml").write_text(API.replace("API_URL", api.url))
    store.says(matrix("1"))
    api.says(answer)
    output = tried(fleet, "by-api", "--prometheus", store.url, code=1)
    assert (output["failure"]["stage"], output["failure"]["reason"]) == ("score", reason)
    assert len(output["failure"]["message"]) < 800
    assert "no scores: score failed" in text(fleet, "by-api", "--prometheus", store.url, code=1)


def test_a_scoring_api_that_cannot_be_reached_is_said(fleet: Path, store: Peer, api: Peer) -> None:
    (fleet / "scorers" / "by-api.yaml").write_text(API.replace("API_URL", api.url))
    api.close()
    store.says(matrix("1"))
    shown = text(fleet, "by-api", "--prometheus", store.url, code=1)
    assert f"{api.url}/scoring must be reachable from here to try this scorer" in shown


def test_a_scoring_api_without_series_needs_no_store(fleet: Path, api: Peer) -> None:
    file = "scorers/region-preference.yaml"
    edit(fleet, file, "http://static-scoring.scoring.svc:8000", api.url)
    api.says(StandInAnswer(body=json.dumps({"results": [{"metric": {}, "score": 9}]}).encode()))
    output = tried(fleet, "region-preference")
    assert [item["value"] for item in output["items"]] == [90]
    assert (output["source"], output["query"]) == (None, None)
    assert json.loads(api.asked[0].body)["data"] == []


def test_a_scorer_on_the_hub_gets_scores_of_all_its_clusters(fleet: Path, store: Peer) -> None:
    (fleet / "scorers" / "central.yaml").write_text(ON_HUB)
    rows = [({"cluster": "eu-west-1"}, "3"), ({"cluster": "unknown"}, "4"), ({}, "5")]
    store.says(vector(*rows))
    output = tried(fleet, "central", "--prometheus", store.url)
    assert [(item["cluster"], item["value"]) for item in output["items"]] == [("eu-west-1", 3)]
    assert output["cluster"] is None
    assert output["missing"] == ["eu-north-1", "us-east-1"]
    assert output["dropped"] == [{"reason": "no_cluster", "count": 1}]
    shown = text(fleet, "central", "--prometheus", store.url)
    assert "no item for 2 clusters: eu-north-1, us-east-1" in shown
    only = tried(fleet, "central", "--prometheus", store.url, "--cluster", "eu-west-1")
    assert only["missing"] == []


def test_with_the_scores_of_a_hub_it_says_what_the_values_would_decide(
    fleet: Path, store: Peer, tmp_path: Path
) -> None:
    (tmp_path / "scores.yaml").write_text(SCORES)
    store.says(vector(({}, "80")))
    words = ("--prometheus", store.url, "--scores", str(tmp_path / "scores.yaml"))
    output = tried(fleet, "cpu-headroom", *words, "--cluster", "eu-north-1")
    by_placement = {explanation["placement"]: explanation for explanation in output["explanations"]}
    raw = by_placement["argocd/raw-guestbook"]
    assert (raw["selected"], raw["rank"], raw["rival"]) == (True, 1, "eu-west-1")
    # 1 + 80 / 100 * 99, rounded down.
    assert next(part["score"] for part in raw["contributions"]) == 80
    shown = text(fleet, "cpu-headroom", *words, "--cluster", "eu-north-1")
    assert "argocd/raw-guestbook, cluster eu-north-1: would be selected" in shown
    store.says(vector(({}, "20")))
    assert "argocd/raw-guestbook, cluster eu-north-1: would not be selected" in text(
        fleet, "cpu-headroom", *words, "--cluster", "eu-north-1"
    )


def test_yaml_is_the_json(fleet: Path, store: Peer) -> None:
    store.says(vector(({}, "37.5")))
    words = ("scorer", "try", "cpu-headroom", "--prometheus", store.url, "--at", AT, "-o", "yaml")
    done = gitops_dsf(*words, cwd=fleet)
    assert yaml.safe_load(done.stdout) == tried(fleet, "cpu-headroom", "--prometheus", store.url)


def test_a_cluster_that_the_scorer_leaves_out_can_be_tried(fleet: Path, store: Peer) -> None:
    edit(fleet, CPU, "  scoreRange:", "  suspend: true\n  scoreRange:")
    store.says(vector(({}, "37.5")))
    words = ("--prometheus", store.url)
    assert "runs on no cluster, because it is suspended; write --cluster" in refused(
        fleet, "cpu-headroom", *words
    )
    output = tried(fleet, "cpu-headroom", *words, "--cluster", "us-east-1")
    assert output["notes"] == ["cpu-headroom does not run on us-east-1, because it is suspended"]
    assert [item["value"] for item in output["items"]] == [38]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cpu-hedroom",), "there is no scorer cpu-hedroom; did you mean cpu-headroom?"),
        (("cpu-headroom",), "cpu-headroom has a query; write --prometheus with the URL of a store"),
        (
            ("cpu-headroom", "--prometheus", "prometheus:9090"),
            "--prometheus is not an http or https",
        ),
        (
            ("cpu-headroom", "--prometheus", "http://p", "--cluster", "eu-west"),
            "there is no cluster eu-west in clusters/; did you mean eu-west-1?",
        ),
        (
            ("cpu-headroom", "--prometheus", "http://p", "--header", "team"),
            "one --header is not NAME:VALUE",
        ),
        (
            ("cpu-headroom", "--prometheus", "http://p", "--token-file", "nowhere"),
            "--token-file nowhere cannot be read: No such file or directory",
        ),
        (
            ("latency-forecast", "--prometheus", "http://p"),
            (
                "the scoring API of latency-forecast wants Secret forecast-token, which only the"
                " cluster has"
            ),
        ),
    ],
    ids=["name", "store", "url", "cluster", "header", "token", "secret"],
)
def test_wrong_usage_says_what_to_write(fleet: Path, words: tuple[str, ...], said: str) -> None:
    name, *others = words
    assert said in refused(fleet, name, *others)


def test_a_kubernetes_source_cannot_be_tried(fleet: Path) -> None:
    edit(fleet, CPU, QUERY, "cpu_available_ratio")
    edit(fleet, CPU, "    type: Prometheus\n", "    type: Kubernetes\n")
    edit(fleet, CPU, "    host: http://prometheus-operated.monitoring.svc:9090", "    #")
    assert "the source of cpu-headroom is Kubernetes: only the agent on the cluster" in refused(
        fleet, "cpu-headroom", "--prometheus", "http://p"
    )


def test_a_repository_with_errors_is_not_tried(fleet: Path, store: Peer) -> None:
    edit(fleet, CPU, "interval: 60", "interval: -1")
    done = gitops_dsf("scorer", "try", "cpu-headroom", "--prometheus", store.url, cwd=fleet)
    assert done.returncode == 1
    assert "no scorer was tried" in done.stdout + done.stderr
    assert store.asked == []


def test_a_store_that_cannot_be_reached_is_a_sentence(fleet: Path, store: Peer) -> None:
    store.close()
    output = tried(fleet, "cpu-headroom", "--prometheus", store.url, code=1)
    assert (output["failure"]["stage"], output["failure"]["reason"]) == ("fetch", "unreachable")
    assert store.url in output["failure"]["message"]


@pytest.fixture
def merged(fleet: Path) -> Path:
    """The fleet as a git repository, committed."""
    commit(fleet)
    return fleet


def changed(fleet: Path, *words: str, code: int = 0) -> str:
    done = gitops_dsf("scorer", "try", "--changed", fleet, "--base", "main", *words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_each_changed_scorer_has_one_line(merged: Path, store: Peer, api: Peer) -> None:
    store.says(vector(({"node": "a"}, "0.375")))
    edit(merged, CPU, "description: ", "description: New. ")
    assert changed(merged, "--prometheus", store.url) == "", "only a description changed"
    assert store.asked == []
    edit(merged, CPU, "100 * avg", "avg")
    (merged / "scorers" / "by-api.yaml").write_text(API.replace("API_URL", api.url))
    (merged / "scorers" / "by-node.yaml").write_text(BY_NODE)
    lines = changed(merged, "--prometheus", store.url).splitlines()
    assert lines[0] == "- by-api: a scoring API is called only for a scorer that is named"
    assert api.asked == [], "whoever writes a pull request names its host"
    assert lines[1].startswith("- by-node: 1 series, 1 item, raw scores 0.375, values 1; ")
    assert lines[2] == (
        "- cpu-headroom: 1 series, 1 item, raw scores 0.375, values 1; max is 100, and every raw"
        " score is between 0 and 1; the query probably gives a ratio: write max: 1, or multiply the"
        " query by 100"
    )
    assert len(lines) == 3
    comment = changed(merged, "--prometheus", store.url, "-o", "markdown")
    assert comment.startswith("### What the changed scorers give\n\nOne cycle of each, asked of `")
    assert "\n- `cpu-headroom`: 1 series, 1 item, raw scores 0.375, values 1; " in comment


def test_a_changed_scorer_without_scores_is_named(merged: Path, store: Peer) -> None:
    store.says(vector())
    edit(merged, CPU, "node_cpu_seconds_total", "node_cpu_second_total")
    [line] = changed(merged, "--prometheus", store.url, code=1).splitlines()
    assert line.startswith("- cpu-headroom: no scores: the store knows no series for this query")


def test_series_of_which_none_gives_an_item_are_not_called_missing(
    fleet: Path, store: Peer
) -> None:
    (fleet / "scorers" / "by-node.yaml").write_text(BY_NODE)
    store.says(vector(({}, "0.375")))
    output = tried(fleet, "by-node", "--prometheus", store.url, code=1)
    assert output["failure"]["reason"] == "no_results"
    assert "none of 1 results gives an item to publish" in output["failure"]["message"]
    assert output["failure"]["hint"] is None


def test_a_pull_request_has_a_line_for_each_changed_scorer(merged: Path, store: Peer) -> None:
    store.says(vector(({}, "37.5")))
    environ = {
        "GITLAB_CI": "true",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "main",
        "GITOPS_DSF_PROMETHEUS": store.url,
        "GITOPS_DSF_CLUSTER_LABEL": "cluster",
    }
    without = gitops_dsf("ci", "check", cwd=merged, environ=environ).stdout
    assert "### What the changed scorers give" not in without
    edit(merged, CPU, "[1h]", "[2h]")
    text = gitops_dsf("ci", "check", cwd=merged, environ=environ).stdout
    assert "- `cpu-headroom`: 1 series, 1 item, raw scores 37.5, values 38" in text
    assert text.index("<!-- gitops-dsf-preview -->") < text.index("### What the changed scorers")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--changed",), "--changed compares with a revision; write --base"),
        (("--changed", "--base", "main", "-o", "json"), "-o json shows one scorer"),
        ((), "name the scorer, or write --changed"),
        (("cpu-headroom", "-o", "markdown"), "-o markdown has one line for each scorer"),
        (("cpu-headroom", "--credentials", "x"), "write --prometheus, too"),
    ],
)
def test_words_that_do_not_go_together_are_refused(words: tuple[str, ...], told: str) -> None:
    done = gitops_dsf("scorer", "try", *words)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
