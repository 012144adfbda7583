"""The sample scorers.

Their tests pass, they keep the contract, and code, DynamicScorer, sample and README say the same.
examples/fleet, a repository of realistic size, has no findings, renders, and runs each scorer where
its masks and selectors say.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dsf_scorer.conformance.exchange import Client
from dsf_wire.scoring import ScorerConfig
from gitops_dsf.cli.main import main
from gitops_dsf.pipeline import RenderResult, produce
from gitops_dsf.repository.model.scorer import DynamicScorer
from tests.support import yamlfast
from tests.support.pages import ROOT
from tests.support.scorer.projecttests import run_project_tests
from tests.support.scorer.serving import serving
from tests.support.threadserver import Handler, ThreadServer

SCORERS = ROOT / "examples" / "scorers"
NAMES = ["cost", "fixed", "gpu_efficiency", "headroom_forecast", "latency", "llm_judge", "mean"]
RANGE = re.compile(
    r"^Output range: (\S+) to (\S+?)\b.*\. (Higher|Lower) is better\.$", re.MULTILINE
)


def scorer_of(name: str) -> DynamicScorer:
    return DynamicScorer.model_validate(
        yamlfast.load((SCORERS / name / "dynamicscorer.yaml").read_text())
    )


def documented(name: str) -> tuple[float, float, str]:
    found = RANGE.search((SCORERS / name / "README.md").read_text())
    assert found is not None, (
        f"{name}/README.md must say: Output range: A to B (unit). Higher is better."
    )
    return float(found[1]), float(found[2]), found[3]


def test_every_sample_is_listed_and_complete() -> None:
    assert (
        sorted(
            path.name
            for path in SCORERS.iterdir()
            if path.is_dir() and not path.name.startswith((".", "_"))
        )
        == NAMES
    )
    index = (SCORERS / "README.md").read_text()
    for name in NAMES:
        names = {
            path.name for path in (SCORERS / name).iterdir() if not path.name.startswith((".", "_"))
        }
        assert names == {
            f"{name}.py",
            f"test_{name}.py",
            "dynamicscorer.yaml",
            "sample.json",
            "README.md",
        }
        assert f"({name}/README.md)" in index


def test_their_own_tests_pass(warm_programs: Path) -> None:
    """All in one run."""
    done = run_project_tests(SCORERS, "-v", "-W", "error", programs=warm_programs)
    assert done.returncode == 0, done.stdout
    passed = Counter(re.findall(r"^(\w+)/test_\w+\.py::.* PASSED", done.stdout, re.MULTILINE))
    assert {name: passed[name] >= 3 for name in NAMES} == dict.fromkeys(NAMES, True), done.stdout


class RecordedModel(ThreadServer):
    """The language model that llm_judge asks: it plays one recorded answer."""

    def __init__(self) -> None:
        super().__init__(_RecordedHandler)


class _RecordedHandler(Handler):
    def serve(self) -> None:
        self.body()
        answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "64"}}]}
        self.send(200, json.dumps(answer).encode())


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with RecordedModel() as server:
        monkeypatch.setenv("LLM_URL", f"{server.url}/v1/chat/completions")
        yield


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract_and_its_documented_range(
    name: str, warm_programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    low, high, _ = documented(name)
    sample = SCORERS / name / "sample.json"
    with serving(f"{name}:app", SCORERS / name, programs=warm_programs) as served:
        code = main(
            ["scorer", "check", served.url, "--data", str(sample), "-o", "json", "--series", "200"]
        )
        report = json.loads(capsys.readouterr().out)
        answer = Client().send(
            "POST",
            f"{served.url}/scoring",
            headers={"Content-Type": "application/json"},
            body=sample.read_bytes(),
        )
        config = msgspec.json.decode(
            Client().send("GET", f"{served.url}/config", headers={}).body, type=ScorerConfig
        )
    problems = {finding["check"] for finding in report["findings"] if finding["severity"] != "ok"}
    assert (code, problems) == (0, set())
    scores = [result["score"] for result in json.loads(answer.body)["results"]]
    assert scores
    assert all(low <= score <= high for score in scores)
    agrees(config, scorer_of(name))


def agrees(config: ScorerConfig, scorer: DynamicScorer) -> None:
    """Full and None mean the same: /config and the DynamicScorer do not differ."""
    spec = scorer.spec
    assert scorer.metadata.name == config.scoring.params.name == spec.scoring.params.name
    assert spec.source.type == config.source.type
    assert spec.source.params.query.split() == config.source.params.query.split()
    assert (spec.source.params.range, spec.source.params.step) == (
        config.source.params.range,
        config.source.params.step,
    )
    assert (spec.scoring.path, spec.scoring.params.interval) == (
        config.scoring.path,
        config.scoring.params.interval,
    )
    assert spec.description == config.description


@pytest.mark.parametrize("name", NAMES)
def test_the_score_range_turns_the_documented_way(name: str) -> None:
    low, high, better = documented(name)
    score_range = scorer_of(name).spec.score_range
    assert score_range is not None
    assert low <= score_range.min < score_range.max <= high
    assert (score_range.output_min < score_range.output_max) == (better == "Higher")
    assert min(score_range.output_min, score_range.output_max) == 1, (
        "a missing score counts as 0 and must be the worst"
    )


@pytest.mark.parametrize("name", NAMES)
def test_sample_and_dynamic_scorer_have_the_same_arguments(name: str) -> None:
    sample: dict[str, Any] = json.loads((SCORERS / name / "sample.json").read_text())
    assert sample.get("arguments") == scorer_of(name).spec.scoring.arguments


QUERIES = ROOT / "examples" / "queries"
QUERY_FILES = sorted(QUERIES.glob("*.yaml"))


def test_every_query_is_listed_with_what_it_says() -> None:
    index = (QUERIES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\S+)\]\(\1\) \| .+ \| (lower|higher) \|", index, re.MULTILINE)
    written = []
    for path in QUERY_FILES:
        score_range = DynamicScorer.model_validate(yamlfast.load(path.read_text())).spec.score_range
        assert score_range is not None
        better = "lower" if score_range.output_min > score_range.output_max else "higher"
        written.append((path.name, better))
    assert sorted(listed) == written


@pytest.mark.parametrize("files", [sorted(SCORERS.glob("*/dynamicscorer.yaml")), QUERY_FILES])
def test_all_of_them_fit_into_one_fleet_repository(
    tmp_path: Path, files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet"
    # What is a fleet's own is named, so that a new repository has no findings.
    named = (
        "--registry",
        "registry.example.com",
        "--git-url",
        "https://git.internal/team/fleet.git",
    )
    assert main(["init", str(fleet), *named]) == 0
    for number, path in enumerate(files):
        shutil.copy(path, fleet / "scorers" / f"sample-{number}.yaml")
    capsys.readouterr()
    code = main(["validate", str(fleet), "--strict"])
    assert code == 0, capsys.readouterr().out


FLEET = ROOT / "examples" / "fleet"
EVERYWHERE = {"cpu-headroom-forecast", "memory-pressure", "site-facts"}
WITH_GPU = {"gpu-memory-free", "inference-efficiency"}


@pytest.fixture(scope="module")
def rendered() -> RenderResult:
    return produce(FLEET)


def scores_on(rendered: RenderResult, cluster: str) -> dict[str, dict[str, Any]]:
    """What the agent of a cluster runs, by score name."""
    assert rendered.tree is not None
    path = next(
        path for path in rendered.tree.files if path.endswith(f"/{cluster}.manifestwork.yaml")
    )
    manifests = yamlfast.load(rendered.tree.read(path))["spec"]["workload"]["manifests"]
    config = next(item for item in manifests if item["kind"] == "ConfigMap")
    return {summary["scoreName"]: summary for summary in json.loads(config["data"]["summaries"])}


def test_it_is_valid_with_strict_and_renders_to_a_fresh_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(FLEET), "--strict"]) == 0
    assert "5 applications, 1 ScoredPlacement; about" in capsys.readouterr().err
    out = ["render", str(FLEET), "--out", str(tmp_path / "tree")]
    assert main(out) == 0
    assert main([*out, "--check"]) == 0


def test_its_tests_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(FLEET)]) == 0
    assert capsys.readouterr().out.endswith("4 tests passed\n")


@pytest.mark.parametrize(
    ("cluster", "others"),
    [
        (
            "core-tokyo",
            {"vcpu-cost", "energy-price", "user-latency", "simple_prediction_score", *WITH_GPU},
        ),
        ("core-vienna", {"vcpu-cost", "energy-price", "user-latency", "simple_prediction_score"}),
        ("edge-munich", {"vcpu-cost", "user-latency", *WITH_GPU}),
        ("edge-prague", {"user-latency"}),
        ("edge-portland", {"vcpu-cost"}),
    ],
)
def test_masks_and_selectors_decide_what_runs(
    rendered: RenderResult, cluster: str, others: set[str]
) -> None:
    assert scores_on(rendered, cluster).keys() == EVERYWHERE | others
