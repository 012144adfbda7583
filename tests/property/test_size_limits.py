"""Laws of limits: exactly the limit passes, and one more is refused.

The numbers are written here again.

Limits of fields, such as the most headers, are in the schemas, which a contract test compares.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from dsf_agent.configuration import settings as agent_settings
from dsf_agent.configuration.watch import observe
from dsf_agent.errors import AgentError
from dsf_agent.publish import hubobject
from dsf_agent.publish.hub import HubStore
from dsf_agent.scoring.labels import label_set
from dsf_agent.scoring.results import ScoringResults
from dsf_runtime.answers import Body
from dsf_scorer.settings import Settings, accepted
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.hubreader import files as hub_files
from gitops_dsf.hubreader.files import documents, from_path
from gitops_dsf.journal import lines
from gitops_dsf.metricstore import files as history_files
from gitops_dsf.metricstore.client import OpenStore
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.render import limits
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.load.discover import discover as discover_files
from gitops_dsf.repository.load.scalar import Ambiguous, resolve_plain
from gitops_dsf.repository.model.score_test import Time
from gitops_dsf.repository.model.series_values import expand
from gitops_dsf.resolve.promql.check import check
from gitops_dsf.simulator.cel.limits import refuse_cost, refuse_expression, refuse_growth
from gitops_dsf.simulator.cel.patterns import regex_error
from tests.support.agent.hub import HAS_SCORES
from tests.support.laws import examples
from tests.support.repositories import APP, asking, checked_fleet, declared, findings

MEBIBYTE: Final = 1 << 20
POINTS: Final = 11_000
"""Per series, of Prometheus."""


class Refusal(Exception):  # noqa: N818 - says what it is
    """What a limit says in another way than by an exception."""


def refuse(words: object) -> None:
    if words:
        raise Refusal(words)


def told(words: str, **documents: str) -> None:
    """Refuses what `validate` says in these words."""
    refuse([item.message for item in findings(**documents) if words in item.message])


def shard(*, clusters: int = 0, size: int = 0) -> None:
    refuse(limits._overfull(Counter({3: clusters}), Counter({3: size})))


def digits(count: int) -> None:
    refuse(isinstance(resolve_plain("1" * count), Ambiguous))


def levels(count: int) -> None:
    refuse(load_text("a: " + "[" * (count - 1) + "]" * (count - 1), file="x.yaml").diagnostics)


def lists(count: int) -> None:
    text = '{"apiVersion": "v1", "kind": "Secret"}'
    for _ in range(count):
        text = f'{{"apiVersion": "v1", "kind": "List", "items": [{text}]}}'
    list(documents(text.encode(), file="x.json"))


def expression(text: str) -> None:
    refuse([item.message for item in check(text).mistakes if "more than" in item.message])


def windows(count: int) -> None:
    text = (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: Maintenance\nmetadata: {{name: m{0}}}\n"
        'spec: {{action: Freeze, clusters: [prod-1], start: "{1}T00:00:00Z", end:'
        ' "{1}T01:00:00Z"}}\n'
    )
    days = (date(2040, 1, 1) + timedelta(days=number) for number in range(count))
    documents = (text.format(number, day) for number, day in enumerate(days))
    told("Maintenance documents", config="---\n".join(documents))


def query(count: int) -> None:
    told("more than 65536 characters", scorers=asking("up" + ";" * (count - 2)))


def application_name(count: int) -> None:
    told("the name becomes a label value", apps=APP.replace("name: web", f"name: {'w' * count}"))


def journal_line(count: int) -> None:
    refuse([text for text in lines.read({"a.jsonl": b"x" * count}).bad if "at most" in text])


def brackets(count: int) -> None:
    refuse_expression("(" * count + "1" + ")" * count)


def growth(count: int) -> None:
    refuse_growth("a.replace('b', 'c')", longest_text=count)


def kubernetes(count: int) -> None:
    measures = ";".join(["cpu_available_ratio"] * count)
    text = asking(measures).replace("host: http://prom:9090, ", "type: Kubernetes, ")
    told("measures in one query", scorers=text.replace(", range: 60, step: 60", ""))


def ranked(count: int) -> None:
    terms = [{"resource": f"r{number}", "dimension": "d", "weight": 1} for number in range(count)]
    msgspec.convert({"terms": terms, "steady": 0}, PacedRanking)


def moves(count: int) -> None:
    entry = {"placement": "argocd/web", "from": "a", "to": "b", "since": 0}
    msgspec.json.decode(msgspec.json.encode({"moves": [entry] * count}), type=Ledger)


def results(size: int) -> None:
    small = label_set("a", b"")
    ScoringResults().extend([label_set("a", bytes(size - small.size))], [1.0])


def cluster_name(count: int) -> None:
    name = ("a" * 60 + ".") * 4 + "b" * (count - 244)
    parsed = agent_settings.parser().parse_args(["check", "--cluster-name", name])
    agent_settings.read(parsed, {})


CASES: Final[dict[str, tuple[int, str, Callable[[int], Any]]]] = {
    "digits of a number": (18, "True", digits),
    "levels of YAML": (64, "DSF006", levels),
    "levels of lists of the hub": (64, "more than 64 levels", lists),
    "values of a series": (10_000, "at most 10,000", lambda count: expand(f"1x{count - 1}")),
    "seconds of a test": (
        604_800,
        "at most 7d",
        lambda count: TypeAdapter(Time).validate_python(f"{count}s"),
    ),
    "characters of PromQL": (
        16_384,
        "more than 16384 characters",
        lambda count: expression("a" * count),
    ),
    "words of PromQL": (2_000, "more than 2000 words", lambda count: expression("a " * count)),
    "brackets of PromQL": (
        60,
        "more than 60 levels",
        lambda count: expression("(" * count + "a" + ")" * count),
    ),
    "signs of PromQL": (60, "more than 60 levels", lambda count: expression("-" * count + "1")),
    "characters of a query": (65_536, "more than 65536", query),
    "measures of a query": (100, "more than 100 measures", kubernetes),
    "windows of maintenance": (200, "at most 200", windows),
    "characters of an application's name": (63, "64 characters", application_name),
    "scores of a paced Placement": (100, "<= 100", ranked),
    "moves of a ledger": (20_000, "<= 20000", moves),
    "clusters of a shard": (500, "[3]", lambda count: shard(clusters=count)),
    "bytes of a shard": (8_000_000, "[3]", lambda count: shard(size=count)),
    "bytes of a body": (77, "limit of 77", lambda count: Body({}, limit=77).add(bytes(count))),
    "announced bytes of a body": (
        77,
        "limit of 77",
        lambda count: Body({"Content-Length": str(count)}, limit=77),
    ),
    "characters of an expression of CEL": (
        100_000,
        "beyond 100000",
        lambda count: refuse_expression("1" * count),
    ),
    "brackets of CEL": (200, "200 brackets", brackets),
    "characters of a pattern of CEL": (
        10_000,
        "beyond 10000",
        lambda count: regex_error("a" * count),
    ),
    "characters that replace makes": (10_000_000, "very long text", growth),
    "steps of a comprehension": (
        1_000_000,
        "cost limit",
        lambda count: refuse_cost(" " * 2, 1, count // 2 + count % 2),
    ),
    "bytes of a line of the journal": (262_144, "at most 262144", journal_line),
    "samples of a history": (
        60_000_000,
        "60,000,000",
        lambda count: OpenStore("http://store").refuse_beyond(count),
    ),
    "bytes of names and lines of results": (16 * MEBIBYTE, "16777216", results),
    "characters of the cluster's name": (253, "cluster-name", cluster_name),
}


@pytest.mark.parametrize("name", CASES)
def test_the_limit_passes_and_one_more_is_refused(name: str) -> None:
    limit, words, use = CASES[name]
    use(limit)
    with pytest.raises(Exception, match=re.escape(words)):
        use(limit + 1)


def a_file(folder: Path, size: int) -> str:
    folder.mkdir()
    (folder / "gitops-dsf.yaml").write_bytes(b"#" * size)
    return " ".join(f"{item.code} {item.message}" for item in discover_files(folder)[2])


def test_the_bytes_of_a_file_of_a_repository(tmp_path: Path) -> None:
    assert a_file(tmp_path / "full", 8 * MEBIBYTE) == ""
    assert (
        a_file(tmp_path / "more", 8 * MEBIBYTE + 1)
        == "DSF008 8388609 bytes; a file may have at most 8388608"
    )


def test_the_bytes_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["gitops_dsf.repository.load.discover"]
    assert vars(module)["MAX_TOTAL_BYTES"] == 128 * MEBIBYTE
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 30)
    (tmp_path / "gitops-dsf.yaml").write_bytes(b"#" * 10)
    (tmp_path / "apps").mkdir()
    for size, count in ((20, 2), (21, 1)):
        (tmp_path / "apps/a.yaml").write_bytes(b"#" * size)
        assert len(discover_files(tmp_path)[0]) == count


def test_the_bytes_of_a_file_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub_files.MAX_FILE_BYTES == 256 * MEBIBYTE
    monkeypatch.setattr(hub_files, "MAX_FILE_BYTES", 140)
    file = tmp_path / "scores.json"
    head = '"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster"'
    text = f'{{{head}, "metadata": {{"name": "a"}}}}'
    file.write_text(text.ljust(140))
    from_path(file)
    file.write_text(file.read_text() + " ")
    with pytest.raises(hub_files.SnapshotError, match="larger than 140 bytes"):
        from_path(file)


def test_the_bytes_of_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all its files together."""
    assert history_files.MAX_BYTES == 512 * MEBIBYTE
    text = '{"status": "success", "data": {"resultType": "matrix", "result": []}}'
    monkeypatch.setattr(history_files, "MAX_BYTES", 200)
    (tmp_path / "a.json").write_text(text.ljust(100))
    (tmp_path / "b.json").write_text(text.ljust(100))
    assert len(history_files.read_path(tmp_path)) == 2
    (tmp_path / "b.json").write_text(text.ljust(101))
    with pytest.raises(history_files.StoreError, match="the history has more"):
        history_files.read_path(tmp_path)


def test_the_bytes_of_the_agents_configuration(tmp_path: Path) -> None:
    file = tmp_path / "summaries"
    for more, reason in ((0, None), (1, "too_large")):
        file.write_bytes(b"[]".ljust(4 * MEBIBYTE + more))
        assert getattr(observe((file,)), "reason", None) == reason


def test_the_bytes_of_a_token_file_of_a_scoring_api(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"secret".ljust(65_536))
    assert accepted(Settings(token_file=file)) == [b"secret"]
    file.write_bytes(b"secret".ljust(65_537))
    with pytest.raises(Exception, match="larger than 65536 bytes"):
        accepted(Settings(token_file=file))


class Silent(Exception):  # noqa: N818 - says what it is
    """The hub was asked."""


class Hub:
    def now(self) -> float:
        return 1_700_000_000.0

    async def call(self, *_: Any, **_how: Any) -> Any:
        raise Silent


async def test_the_bytes_of_an_object_of_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without managedFields it is half of that."""
    for size, refusal in ((1_500_000, Silent), (1_500_001, AgentError)):
        monkeypatch.setattr(
            hubobject, "stored_bytes", lambda _body, *, items, size=size: size + items - 1
        )
        with pytest.raises(refusal):
            await HubStore(server=Hub(), cluster="c1").write(
                "cpu", scorer="cpu", values={"a": 1}, valid_until=2e9, condition=HAS_SCORES
            )


def rendered(monkeypatch: pytest.MonkeyPatch, name: str, result: Any) -> list[str]:
    """The codes about a small fleet where something is as large as this."""
    documents = {"apps": APP.replace("placement: {", "placement: {clusterSets: [global], ")}
    monkeypatch.setattr(limits, name, lambda *_args, **_how: result)
    return [
        item.code for item in limits.check_limits(checked_fleet(**documents), declared(**documents))
    ]


def test_the_bytes_of_a_manifestwork(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "DSF501" not in rendered(monkeypatch, "payload_bytes", 512_000)
    assert "DSF501" in rendered(monkeypatch, "payload_bytes", 512_001)


@examples(25)
@given(span=st.integers(1, 31_536_000), step=st.integers(1, 4_000))
def test_the_step_that_a_hint_names_passes_and_no_smaller_one(span: int, step: int) -> None:
    """Prometheus returns range / step + 1 points, rounded down."""

    def hint(step: int) -> str:
        text = asking("up", span=f"range: {span}, ").replace("step: 60", f"step: {step}")
        return next((item.hint for item in findings(scorers=text) if item.code == "DSF108"), "")

    assert bool(hint(step)) == (span // step + 1 > POINTS)
    if found := re.search(r"write step: ([0-9]+) or more", hint(step)):
        assert not hint(int(found[1]))
        assert hint(int(found[1]) - 1)
