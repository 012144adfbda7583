"""Sync against real servers.

What is accepted, what is refused and why, and that nothing else changes.
"""

import json
import re
import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.pipeline import produce
from tests.integration.sync.conftest import CLUSTER, SETTINGS, SOURCE, Repository
from tests.support.agent.certificates import Authority
from tests.support.commandline import gitops_dsf, program
from tests.support.outputs import check_output
from tests.support.pageserver import Answer, ConfigPageServer, says
from tests.support.rendering import metric_source

QUERY = 'avg(rate(node_cpu_seconds_total{mode="idle"}[5m]))'


def page(
    *, name: str = "cpu", query: str = QUERY, interval: int = 60, **more: Any
) -> dict[str, Any]:
    source = {
        "type": "Prometheus",
        "host": "",
        "path": "",
        "params": {"query": query, "range": 3600, "step": 60},
        **more.pop("source", {}),
    }
    scoring = {
        "path": "/scoring",
        "params": {"name": name, "interval": interval},
        **more.pop("scoring", {}),
    }
    return {
        "name": name,
        "description": f"{name} headroom",
        "source": source,
        "scoring": scoring,
        **more,
    }


@pytest.fixture
def cpu(repository: Repository, server: ConfigPageServer) -> Repository:
    """One scorer, its lock taken."""
    server.pages["/config"] = says(**page())
    repository.scorer("cpu", f"{server.url}/config")
    assert repository.sync() == 0
    return repository


def test_the_first_lock_is_what_the_page_says(
    repository: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pages["/config"] = says(**page())
    repository.scorer("cpu", f"{server.url}/config")
    assert repository.sync() == 0
    lock = repository.lock("cpu")
    assert (
        lock
        == f"""\
# yaml-language-server: $schema=../.schemas/gitops-dsf.json
# What the /config page of the scorer with this name said when it was last accepted. `gitops-dsf sync` writes it; review its changes.
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata:
  name: cpu
spec:
  config:
    description: cpu headroom
    name: cpu
    scoring:
      params:
        interval: 60
        name: cpu
      path: /scoring
    source:
      params:
        query: {QUERY}
        range: 3600
        step: 60
      type: Prometheus
  configURL: {server.url}/config
"""  # noqa: E501
    )
    rendered = produce(repository.root)
    assert rendered.diagnostics == ()
    assert rendered.tree is not None
    assert any(
        b"node_cpu_seconds_total" in b"".join(parts) for parts in rendered.tree.files.values()
    )
    out = capsys.readouterr()
    assert (
        "cpu  new        locks/cpu.yaml written\n    config.description: cpu headroom\n" in out.out
    )
    assert out.err == "1 new; review locks/, run gitops-dsf render, and commit both\n"


def test_a_page_of_the_same_meaning_is_no_change(cpu: Repository, server: ConfigPageServer) -> None:
    before = cpu.files()
    changed = page()
    changed["unknown"] = {"deep": [1]}
    changed["source"]["host"] = ""
    server.pages["/config"] = Answer(
        body=json.dumps(dict(reversed(changed.items())), indent=3).encode(), media="text/plain"
    )
    assert cpu.sync("--check") == 0
    assert cpu.sync() == 0
    assert cpu.files() == before


def test_a_byte_order_mark_is_no_change(cpu: Repository, server: ConfigPageServer) -> None:
    before = cpu.files()
    server.pages["/config"] = Answer(body=b"\xef\xbb\xbf" + json.dumps(page()).encode())
    assert cpu.sync() == 0
    assert cpu.files() == before


def test_null_is_absent(repository: Repository, server: ConfigPageServer) -> None:
    """FastAPI writes the optional fields of its models as null."""
    params = {"query": None, "range": None, "step": None}
    source = {"type": "None", "host": None, "path": None, "params": params}
    scoring = {"host": None, "path": None, "params": {"name": "cpu", "interval": 30}}
    server.pages["/config"] = says(name="cpu", description=None, source=source, scoring=scoring)
    repository.scorer("cpu", f"{server.url}/config")
    assert repository.sync() == 0
    said = repository.said("cpu")
    assert said["scoring"] == {"params": {"name": "cpu", "interval": 30}}
    server.pages["/config"] = says(name="cpu", source=None, scoring=scoring)
    assert repository.sync() == 0


def test_check_says_field_by_field_what_differs_and_writes_nothing(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cpu.files()
    server.pages["/config"] = says(**page(interval=30, query="up", description=""))
    capsys.readouterr()
    assert cpu.sync("--check") == 1
    assert cpu.files() == before
    out = capsys.readouterr()
    assert (
        out.out
        == f"""\
cpu  changed    locks/cpu.yaml would be written
    config.description
      - cpu headroom
      + (absent)
    config.scoring.params.interval
      - 60
      + 30
    config.source.params.query
      - {QUERY}
      + up
"""
    )
    assert out.err == "1 changed; run gitops-dsf sync to write them\n"
    assert cpu.sync("--check", "-o", "json") == 1
    printed = capsys.readouterr().out
    assert check_output(["sync", "-o", "json"], printed)
    found = json.loads(printed)
    assert found[0]["changes"][1] == {
        "field": "config.scoring.params.interval",
        "before": 60,
        "after": 30,
    }
    assert (found[0]["scorer"], found[0]["verdict"], found[0]["file"]) == (
        "cpu",
        "changed",
        "locks/cpu.yaml",
    )
    assert cpu.sync() == 0
    assert cpu.said("cpu")["scoring"]["params"]["interval"] == 30
    assert "description" not in cpu.said("cpu")


def test_a_lock_in_a_shared_file_is_updated_there(
    repository: Repository, server: ConfigPageServer
) -> None:
    for name in ("a", "b"):
        server.pages[f"/{name}"] = says(**page(name=name))
        repository.scorer(name, f"{server.url}/{name}")
    assert repository.sync() == 0
    both = repository.lock("a") + "---\n# the second\n" + repository.lock("b")
    for name in ("a", "b"):
        (repository.root / f"locks/{name}.yaml").unlink()
    (repository.root / "locks/fleet.yaml").write_text(both, encoding="utf-8")
    server.pages["/b"] = says(**page(name="b", interval=7))
    assert repository.sync() == 0
    assert sorted(path.name for path in (repository.root / "locks").iterdir()) == ["fleet.yaml"]
    assert (repository.root / "locks/fleet.yaml").read_text(encoding="utf-8") == both[::-1].replace(
        "06 :lavretni", "7 :lavretni", 1
    )[::-1]


def cut(handler: BaseHTTPRequestHandler) -> None:
    Answer(body=b'{"name": "cpu"', headers={"Content-Length": "500"})(handler)
    handler.close_connection = True


BAD: dict[str, tuple[Callable[[BaseHTTPRequestHandler], None], str]] = {
    "not found": (Answer(status=404), "answers 404 Not Found"),
    "server error": (Answer(status=503, body=b"<html>"), "answers 503 Service Unavailable"),
    "html": (
        Answer(body=b"<!doctype html><title>Log in</title>", media="text/html; charset=utf-8"),
        "is an HTML page, not JSON",
    ),
    "html in disguise": (Answer(body=b"\n <html></html>"), "is an HTML page, not JSON"),
    "html of json": (
        Answer(body=json.dumps(page()).encode(), media="text/html"),
        "is an HTML page, not JSON",
    ),
    "text": (Answer(body=b"hello", media="text/plain"), "is not JSON (text/plain)"),
    "not utf-8": (Answer(body=b'{"name": "\xff"}'), "is not JSON"),
    "empty": (Answer(), "is empty"),
    "a list": (Answer(body=b"[]"), "has another shape: Expected `object`, got `array`"),
    "nothing known": (says(hello="world"), "has no field of a scorer's configuration"),
    "a number as text": (
        says(**page(scoring={"params": {"name": "cpu", "interval": "60"}})),
        "Expected `int`, got `str` - at `$.scoring.params.interval`",
    ),
    "too large": (
        Answer(body=b'{"name": "' + b"x" * 400_000 + b'"}'),
        "announces 400012 bytes, more than the limit of 262144 bytes",
    ),
    "too deep": (
        Answer(body=b'{"unknown": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        "is not JSON",
    ),
    "compressed unasked": (
        Answer(body=b"x", headers={"Content-Encoding": "gzip"}),
        "Content-Encoding 'gzip', which was not asked for",
    ),
    "redirect away": (
        Answer(status=302, headers={"Location": "http://scorer.example.com/config"}),
        "points to http://scorer.example.com/config, another origin",
    ),
    "redirect to another scheme": (
        Answer(status=301, headers={"Location": "//127.0.0.2:1/config"}),
        "another origin",
    ),
    "redirect for ever": (
        Answer(status=302, headers={"Location": "/config"}),
        "redirects more than 3 times",
    ),
    "cut": (cut, "broke off its answer"),
    "promql": (says(**page(query="sum(up")), "DSF109: PromQL: unclosed left parenthesis"),
    "source type": (
        says(**page(source={"type": "Graphite"})),
        "DSF016: spec.config.source.type: Graphite is not allowed; write Prometheus or None",
    ),
    "long name": (says(**page(name="n" * 254)), "at most 253 characters"),
    "control characters": (
        says(**page(description="\x1b[31m")),
        "description holds control characters",
    ),
    "another source host": (
        says(**page(source={"host": "http://elsewhere.example.com:9090"})),
        "DSF117: the lock of cpu sends queries to elsewhere.example.com",
    ),
    "another scoring host": (
        says(**page(scoring={"host": "http://elsewhere.example.com"})),
        "DSF117: the lock of cpu sends metrics to elsewhere.example.com",
    ),
    "credentials": (says(**page(scoring={"host": "http://user:secret@127.0.0.1:1"})), "DSF104"),
    "a path that is none": (says(**page(scoring={"path": "scoring?model=small"})), "DSF103"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_answers_are_refused_and_the_old_lock_stays(
    case: str, cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, words = BAD[case]
    before = cpu.files()
    server.pages["/config"] = answer
    capsys.readouterr()
    assert cpu.sync() == 1
    out = capsys.readouterr().out
    assert "cpu  refused    locks/cpu.yaml stays as it is\n" in out
    assert words in out
    assert all(each.isprintable() or each == "\n" for each in out)
    assert cpu.files() == before


def test_network_faults_are_told_apart(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    repository.scorer("closed", f"http://127.0.0.1:{port}/config")
    repository.scorer("nowhere", "http://does-not-exist.invalid/config")
    repository.scorer("ftp", "ftp://example.com/config")
    repository.scorer("user", "http://user:secret@127.0.0.1:1/config")
    assert repository.sync() == 1
    out = capsys.readouterr().out
    assert f"127.0.0.1:{port}/config cannot be reached (Connection refused)" in out
    assert "does-not-exist.invalid/config: the host name is not known here" in out
    assert "ftp://example.com/config is not an http or https URL" in out
    assert "http://127.0.0.1:1/config holds credentials" in out
    assert "secret" not in out


@pytest.mark.parametrize("host", ["cpu.scoring.svc", "cpu.scoring.svc.cluster.local"])
def test_a_page_of_a_service_is_asked_through_a_forwarded_port(
    repository: Repository,
    server: ConfigPageServer,
    capsys: pytest.CaptureFixture[str],
    host: str,
) -> None:
    """On a laptop, where no such name is known. The commands that are printed work as they are."""
    url = f"http://{host}:8000/config"
    repository.scorer("cpu", url)
    assert repository.sync() == 1
    said = capsys.readouterr().err
    assert f"{host} is the name of a Service, which is known in its cluster only" in said
    assert "kubectl --context CLUSTER -n scoring port-forward service/cpu 18080:8000 &\n" in said
    command = f"  gitops-dsf sync {repository.root} --scorer cpu --connect-to 127.0.0.1:18080\n"
    assert command in said
    server.pages["/config"] = says(**page())
    words = command.replace("127.0.0.1:18080", server.url.removeprefix("http://")).split()[1:]
    assert main(words) == 0
    assert server.headers[-1]["host"] == f"{host}:8000"
    written = capsys.readouterr()
    assert "is the name of a Service" not in written.err
    assert "1 new; review locks/, run gitops-dsf render, and commit both\n" in written.err


def test_a_forwarded_port_shows_the_certificate_of_the_service(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority("scoring")
    (tmp_path / "ca.pem").write_text(authority.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    server = ConfigPageServer()
    server.serve_tls(authority.server(tmp_path / "server", host="cpu.scoring.svc"))
    with server:
        server.pages["/config"] = says(**page())
        repository.scorer("cpu", "https://cpu.scoring.svc/config")
        address = server.url.removeprefix("https://").replace("localhost", "127.0.0.1")
        assert repository.sync("--scorer", "cpu", "--connect-to", address) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--connect-to", "127.0.0.1:1"], "--connect-to goes with one --scorer"),
        (
            ["--scorer", "a", "--scorer", "b", "--connect-to", "x:1"],
            "--connect-to goes with one --scorer",
        ),
        (
            ["--scorer", "a", "--connect-to", "http://x:1"],
            "write host and port, such as 127.0.0.1:18080",
        ),
    ],
)
def test_a_forwarded_port_is_that_of_one_scorer(
    repository: Repository, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert repository.sync(*words) == 2
    assert said in capsys.readouterr().err


def test_only_names_of_services_get_that_hint(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.scorer("nowhere", "http://does-not-exist.invalid/config")
    repository.scorer("local", "http://localhost:1/config")
    assert repository.sync() == 1
    assert "is the name of a Service" not in capsys.readouterr().err


def test_a_page_that_scorers_share_is_asked_once(
    repository: Repository, server: ConfigPageServer
) -> None:
    server.pages["/good"] = says(**page(name="", interval=30))
    for name in ("one", "two"):
        repository.scorer(name, f"{server.url}/good", scoring={"params": {"name": name}})
    assert repository.sync() == 0
    assert server.asked["/good"] == 1
    assert repository.said("one") == repository.said("two")


def test_a_score_name_that_collides_is_refused_whoever_had_it_first(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pages["/other"] = says(**page(name="cpu"))
    cpu.scorer("another", f"{server.url}/other")  # sorts before cpu, which has the name
    server.pages["/config"] = says(**page(interval=77))
    assert cpu.sync() == 1
    out = capsys.readouterr().out
    assert "another  refused" in out
    assert "DSF101" in out
    assert not (cpu.root / "locks/another.yaml").exists()
    assert cpu.said("cpu")["scoring"]["params"]["interval"] == 77


def mask(repository: Repository, score: str) -> None:
    repository.write("clusters/c2.yaml", {**CLUSTER, "metadata": {"name": "c2"}})
    repository.write(
        "config/masks.yaml",
        {
            "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
            "kind": "DynamicScoringConfig",
            "metadata": {"name": "dynamic-scoring-config"},
            "spec": {"masks": [{"clusterName": "c1", "scoreName": score}]},
        },
    )


@pytest.mark.parametrize("masked", ["one", "two", "three"])
def test_a_mask_for_a_score_of_a_first_lock_refuses_no_lock(
    repository: Repository, server: ConfigPageServer, masked: str
) -> None:
    for name in ("one", "two", "three"):
        server.pages[f"/{name}"] = says(**page(name=f"{name}-score"))
        repository.scorer(name, f"{server.url}/{name}")
    mask(repository, f"{masked}-score")
    assert repository.sync() == 0
    assert main(["validate", str(repository.root), "--strict"]) == 0


def test_a_mask_for_a_score_that_no_page_has_refuses_no_lock(
    repository: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """No lock took the score away, so validate names the mask, once all names of scores are
    known.
    """
    for name in ("one", "two"):
        server.pages[f"/{name}"] = says(**page(name=f"{name}-score"))
        repository.scorer(name, f"{server.url}/{name}")
    mask(repository, "tow-score")
    assert main(["validate", str(repository.root)]) == 0
    capsys.readouterr()
    assert repository.sync() == 0
    assert sorted(path.name for path in (repository.root / "locks").iterdir()) == [
        "one.yaml",
        "two.yaml",
    ]
    assert "DSF202" not in capsys.readouterr().out
    assert main(["validate", str(repository.root)]) == 1
    assert (
        "config/masks.yaml:9:16: error DSF202: there is no score tow-score"
        in capsys.readouterr().out
    )


def test_the_lock_that_takes_a_masked_score_away_is_refused_not_a_first_one(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    mask(cpu, "cpu")
    server.pages["/config"] = says(**page(name="cpu-v2"))
    server.pages["/first"] = says(**page(name="first"))
    cpu.scorer(
        "zfirst", f"{server.url}/first"
    )  # sorts after cpu, and its lock is the last that is missing
    assert cpu.sync() == 1
    out = capsys.readouterr().out
    assert "cpu     refused" in out
    assert "DSF202" in out
    assert "config/masks.yaml" in out
    assert "zfirst  new" in out
    assert cpu.said("cpu")["scoring"]["params"]["name"] == "cpu"
    assert cpu.said("zfirst")["scoring"]["params"]["name"] == "first"
    assert main(["validate", str(cpu.root)]) == 0


def test_a_page_may_name_any_host_beside_a_metric_source(
    cpu: Repository, server: ConfigPageServer
) -> None:
    """The MetricSource names the host, and the one of the page has no effect."""
    cpu.write(
        "config/sources.yaml", metric_source("platform", {"host": "http://prometheus.svc:9090"})
    )
    cpu.scorer("cpu", f"{server.url}/config", source={"ref": "platform"})
    for number in (1, 2):
        server.pages["/config"] = says(
            **page(source={"host": f"http://metrics-{number}.example.com:9090"})
        )
        assert cpu.sync() == 0


def test_a_host_moves_only_when_scorer_or_repository_agree(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pages["/config"] = says(**page(source={"host": "http://metrics-1.example.com:9090"}))
    cpu.scorer("cpu", f"{server.url}/config", source={})
    assert cpu.sync() == 0, "the scorer names no source host, so the first one is nobody's change"
    server.pages["/config"] = says(**page(source={"host": "http://metrics-2.example.com:9090"}))
    before = cpu.files()
    assert cpu.sync() == 1
    assert (
        "source.host moves from metrics-1.example.com to metrics-2.example.com"
        in capsys.readouterr().out
    )
    assert cpu.files() == before
    cpu.write(
        "gitops-dsf.yaml",
        {**SETTINGS, "spec": {**SETTINGS["spec"], "allowedHosts": ["metrics-*.example.com"]}},
    )
    assert cpu.sync() == 0
    assert cpu.said("cpu")["source"]["host"] == "http://metrics-2.example.com:9090"


def test_a_host_that_only_the_page_names_gets_no_token(
    repository: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    auth = {"tokenSecretRef": {"name": "prometheus", "key": "token"}}
    repository.write(
        "gitops-dsf.yaml",
        {
            **SETTINGS,
            "spec": {**SETTINGS["spec"], "allowedHosts": ["*"], "allowedTokenHosts": ["*"]},
        },
    )
    server.pages["/config"] = says(**page(source={"host": "http://collector.example.com"}))
    repository.scorer("cpu", f"{server.url}/config", source={"auth": auth})
    assert repository.sync() == 1
    assert "DSF116" in capsys.readouterr().out
    repository.scorer(
        "cpu", f"{server.url}/config", source={"host": "http://collector.example.com", "auth": auth}
    )
    assert repository.sync() == 0


def test_a_scorer_that_is_no_longer_full_is_reported(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cpu.scorer("cpu", f"{server.url}/config", configSyncMode="None")
    asked = server.asked.total()
    before = cpu.files()
    assert cpu.sync() == 0
    assert (
        "cpu  unused     locks/cpu.yaml\n    the scorer has configSyncMode None: the lock"
        " is not read; remove"
        " it\n" in capsys.readouterr().out
    )
    (cpu.root / "scorers/cpu.yaml").unlink()
    assert cpu.sync() == 0
    assert "there is no DynamicScorer of this name" in capsys.readouterr().out
    assert server.asked.total() == asked
    assert before["locks/cpu.yaml"] == cpu.files()["locks/cpu.yaml"]


def test_a_lock_that_somebody_broke_is_not_written_over(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (
        cpu.lock("cpu") + "\n  tab:\t: [",
        cpu.lock("cpu").replace("interval: 60", "intervall: 60"),
    ):
        (cpu.root / "locks/cpu.yaml").write_text(text, encoding="utf-8")
        server.pages["/config"] = says(**page(interval=5))
        assert cpu.sync() == 1
        assert "locks/cpu.yaml has mistakes, so it is not overwritten" in capsys.readouterr().out
        assert cpu.lock("cpu") == text


def test_a_scorer_with_mistakes_is_reported_and_the_others_go_on(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cpu.scorer("broken", f"{server.url}/config", location="Moon")
    server.pages["/config"] = says(**page(interval=9))
    assert cpu.sync() == 1
    assert "broken  refused" in capsys.readouterr().out
    assert cpu.said("cpu")["scoring"]["params"]["interval"] == 9


def test_only_the_named_scorer_is_asked(
    cpu: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pages["/mem"] = says(**page(name="mem"))
    cpu.scorer("mem", f"{server.url}/mem")
    asked = server.asked["/config"]
    assert cpu.sync("--scorer", "mem") == 0
    assert server.asked["/config"] == asked
    assert cpu.said("mem")["name"] == "mem"
    capsys.readouterr()
    assert cpu.sync("--scorer", "men") == 2
    assert "there is no DynamicScorer of this name; did you mean mem?" in capsys.readouterr().err
    cpu.scorer("mem", f"{server.url}/mem", configSyncMode="None")
    assert cpu.sync("--scorer", "mem") == 2


def test_wrong_usage(
    tmp_path: Path, repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sync", "cpu"]) == 2
    assert "write --scorer cpu for one scorer" in capsys.readouterr().err
    (tmp_path / "elsewhere").mkdir()
    assert main(["sync", str(tmp_path / "elsewhere")]) == 2
    assert "holds no gitops-dsf.yaml; name a fleet repository" in capsys.readouterr().err
    assert repository.sync("--timeout", "0") == 2
    assert repository.sync("--timeout", "nan") == 2
    assert repository.sync() == 0
    assert "nothing to ask" in capsys.readouterr().err


DEEP = {
    "escapes": 'up{a="' + "\\n" * 30_000 + '"}',
    "comments": "#\n" * 30_000 + "up",
    "comments between matchers": "up{" + "#\n" * 30_000 + 'a="b"}',
    "escapes beside a mistake": "rate(up) + absent(up{a=`"
    + "\\n" * 30_000
    + '`}) + "'
    + "\\n" * 1_000
    + '"',
}
LONG = {
    "escapes": 'up{a="' + "\\n" * 1_500 + '"}',
    "comments": "# of the team\n" * 1_000 + "up",
    "back-quotes": "up{a=~`" + r"\d" * 3_000 + "`}",
}


def test_a_query_that_would_crash_the_parser_is_a_finding(
    repository: Repository, warm_programs: Path
) -> None:
    """In a process, which a crash ends."""
    for name, query in DEEP.items():
        written(repository, query, name=name.replace(" ", "-"))
    done = program(warm_programs / "gitops-dsf", "validate", cwd=repository.root)
    assert done.returncode == 1, done.stdout + done.stderr
    found = re.findall(r"^scorers/(\S+)\.yaml:.*DSF109: PromQL: ", done.stdout, re.MULTILINE)
    assert set(found) == {name.replace(" ", "-") for name in DEEP}


@pytest.mark.parametrize("query", LONG.values(), ids=LONG)
def test_a_long_query_is_accepted(
    query: str, repository: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pages["/config"] = says(**page(query=query))
    repository.scorer("cpu", f"{server.url}/config")
    assert repository.sync() == 0
    written(repository, query)
    assert main(["validate", str(repository.root)]) == 0
    assert "PromQL" not in capsys.readouterr().out


def test_a_long_text_is_searched_for_secrets_once(repository: Repository) -> None:
    """A search that reads the rest of the text from each possible start takes a quarter of an
    hour.
    """
    written(repository, "up", description="-eyJ" * 220_000)
    done = gitops_dsf("validate", repository.root)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def written(repository: Repository, query: str, name: str = "cpu", **spec: str) -> None:
    """Writes the scorer into the repository, so that no lock is needed."""
    source = {**SOURCE, "type": "Prometheus", "path": "/api/v1/query", "params": {"query": query}}
    params = {"name": name, "interval": 60}
    scoring = {"host": "http://scorer.apps.svc:8080", "path": "/scoring", "params": params}
    url = "http://scorer.apps.svc:8080/config"
    repository.scorer(name, url, configSyncMode="None", source=source, scoring=scoring, **spec)
