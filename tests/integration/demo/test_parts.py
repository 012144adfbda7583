"""The demo's stand-ins, each over real HTTP or real files."""

import json
import socket
import struct
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from demo.folder import emptied
from demo.history import Event, History, Observation
from demo.kubelet import Volume
from demo.load import ClusterLoad
from demo.network import PROMETHEUS, QUERIES, network
from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.views.page.chart import ticks
from tests.support import yamlfast

ROOT = Path(__file__).parents[3]

CPU = "100 * avg(instance:node_cpu_utilisation:rate5m)"
CORES = "sum by (label_node_kubernetes_io_instance_type) (cluster:capacity_cpu_cores:sum)"


@pytest.fixture
def load() -> ClusterLoad:
    return ClusterLoad(cluster="eu", percent=40.0, instance_type="m7i.large", cores=48)


@pytest.fixture
def source(load: ClusterLoad) -> Iterator[str]:
    with network(load, {}) as server:
        yield server


def ask(server: str, path: str, *, method: str = "GET", **parameters: object) -> tuple[int, Any]:
    connection = HTTPConnection(server, timeout=30)
    form = urlencode(parameters)
    path = f"http://{PROMETHEUS}{path}"
    if method == "GET":
        connection.request("GET", f"{path}?{form}")
    else:
        connection.request(
            "POST", path, body=form, headers={"Content-Type": "application/x-www-form-urlencoded"}
        )
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text) if text.startswith("{") else text


def test_a_client_that_goes_away_leaves_no_traceback(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    host, _, port = source.partition(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as client:
            client.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # a reset instead of a goodbye
            client.sendall(b"GET http://other.svc/ HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
    status, _ = ask(source, "/api/v1/query", query=CPU)
    assert status == 200
    time.sleep(0.3)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_range_query_has_one_sample_for_each_step(source: str, method: str) -> None:
    end = int(time.time())
    status, content = ask(
        source, "/api/v1/query_range", method=method, query=CPU, start=end - 30, end=end, step=5
    )
    assert (status, content["data"]["resultType"]) == (200, "matrix")
    (series,) = content["data"]["result"]
    assert series["metric"] == {}
    assert [when for when, _ in series["values"]] == [end - 30 + 5 * index for index in range(7)]
    assert all(39 <= float(value) <= 41 for _, value in series["values"])


def test_a_turn_changes_the_future_and_not_the_past(load: ClusterLoad, source: str) -> None:
    now = time.time()
    before = load.at(now - 10)
    load.turn(90, seconds=10, now=now)
    assert load.at(now - 10) == before
    assert 64 <= load.at(now + 5) <= 66
    assert 89 <= load.at(now + 60) <= 91
    load.turn(20, seconds=0, now=now + 5)
    assert 19 <= load.at(now + 6) <= 21


def test_a_value_has_the_labels_of_its_query(source: str) -> None:
    _, content = ask(source, "/api/v1/query", query=CORES)
    assert [(row["metric"], row["value"][1]) for row in content["data"]["result"]] == [
        ({"label_node_kubernetes_io_instance_type": "m7i.large"}, "48.0")
    ]


def test_it_knows_the_queries_of_the_demo() -> None:
    files = [*ROOT.glob("demo/repository/scorers/*.yaml"), *ROOT.glob("demo/scoringapis/*.yaml")]
    asked = {yamlfast.load(path.read_text())["spec"]["source"]["params"]["query"] for path in files}
    assert len(files) >= 3
    assert asked == set(QUERIES)


@pytest.mark.parametrize("query", ["rate(instance:node_cpu_utilisation:rate5m[5m])", "sum(", ""])
def test_what_it_does_not_know_is_refused_as_prometheus_refuses(source: str, query: str) -> None:
    status, content = ask(source, "/api/v1/query", query=query)
    assert (status, content["status"], content["errorType"]) == (400, "error", "bad_data")
    assert "does not know" in content["error"]


def test_one_name_leads_each_cluster_to_its_own_service(load: ClusterLoad, source: str) -> None:
    with network(load, {PROMETHEUS.replace("prometheus", "api"): source}) as dns:
        connection = HTTPConnection(dns, timeout=30)
        connection.request("GET", f"http://{PROMETHEUS}/api/v1/query?{urlencode({'query': CORES})}")
        assert json.loads(connection.getresponse().read())["status"] == "success"
        connection.request("GET", f"http://{PROMETHEUS.replace('prometheus', 'api')}/")
        assert connection.getresponse().read().startswith(b"eu has no service")
        connection.request("GET", "http://elsewhere.svc:9090/")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (502, b"eu has no service elsewhere.svc:9090")
        connection.close()


def test_a_volume_changes_by_one_swap(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "config")
    assert volume.project({"summaries": "[]", "old": ""})
    first = (tmp_path / "config" / "..data").readlink()
    assert not volume.project({"summaries": "[]", "old": ""})
    assert volume.project({"summaries": "[1]"})
    assert (tmp_path / "config" / "summaries").read_text() == "[1]"
    assert (tmp_path / "config" / "..data").readlink() != first
    assert sorted(
        path.name for path in (tmp_path / "config").iterdir() if not path.name.startswith("..")
    ) == ["summaries"]
    assert not (tmp_path / "config" / first).exists()


def test_a_folder_belongs_to_one_demo_at_a_time(tmp_path: Path) -> None:
    with emptied(tmp_path / "out") as folder:
        (folder / "left").mkdir()
        with pytest.raises(GitopsDsfError, match="a demo is running"), emptied(tmp_path / "out"):
            pass
        assert (folder / "left").exists()
    with emptied(tmp_path / "out") as folder:
        assert not (folder / "left").exists()


def look(at: float, *, chosen: str, **points: float) -> Observation:
    scores = {"cpu": {name: round(value) for name, value in points.items()}}
    return Observation(
        time=at,
        scores=scores,
        points=points,
        stickiness=10.0,
        chosen=(chosen,),
        load=dict.fromkeys(points, 50.0),
    )


def test_a_history_knows_who_moved_and_why() -> None:
    history = History()
    assert history.add(look(100, chosen="a", a=60.0, b=50.0)) is not None
    assert history.add(look(101, chosen="a", a=60.0, b=50.0)) is None
    history.events.append(Event(time=102, text="a is busy"))
    move = history.add(look(103, chosen="b", a=30.0, b=50.0))
    assert move is not None
    assert (move.origin, move.target, move.cause) == (("a",), ("b",), "a is busy")
    assert move.reason == "b has 50.0 points and a has 30.0: a lead of 20.0, more than the stickiness of 10"


@pytest.mark.parametrize(
    ("behind", "words"),
    [
        (49.9, "a lead of 10.1, more than the stickiness of 10"),
        (50.0, "a lead of 10.0, exactly the stickiness of 10: a tie, which OCM decides by name"),
        (52.0, "a lead of 8.0, less than the stickiness of 10 by now: the scores changed after the decision"),
    ],
)
def test_a_lead_is_compared_with_the_stickiness(behind: float, words: str) -> None:
    history = History()
    history.add(look(100, chosen="b", a=60.0, b=60.0))
    move = history.add(look(101, chosen="a", a=60.0, b=behind))
    assert move is not None
    assert move.reason == f"a has 60.0 points and b has {behind:.1f}: {words}"


def test_the_times_of_an_axis() -> None:
    for end in (1.0, 7.0, 40.0, 61.0, 1200.0, 7200.0):
        found = ticks(end, most=6)
        assert 1 <= len(found) <= 6
        assert found[-1] <= end
