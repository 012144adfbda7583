"""What the real promtool says.

It evaluates queries over given metrics for `gitops-dsf test`, and reads the values of series as we
do; the queries of examples/queries give what they should; it finds no fault with the alert rules,
and runs the tests that are shipped beside them.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.metricstore.promtool import evaluate
from gitops_dsf.repository.model.series_values import SeriesValuesError, expand
from gitops_dsf.scoretests.queries import GivenSamples, PromtoolQuestion, QueryError, QueryResults
from tests.hub.controlplane.binaries import obtain
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

ROOT = Path(__file__).parents[2]
STEP = 600
"""Longer than the 5 minutes for which Prometheus looks back, so that each value counts once."""


@pytest.fixture(scope="module")
def program() -> Path:
    return Path(obtain("prometheus").path("promtool"))


def ask(program: Path, *expressions: str, values: str, count: int, name: str = "s") -> QueryResults:
    return evaluated(
        program, *expressions, metrics={name: values}, times=range(0, count * STEP, STEP)
    )


def evaluated(
    program: Path, *expressions: str, metrics: Mapping[str, str], times: range
) -> QueryResults:
    question = PromtoolQuestion(
        scorer="s",
        cluster="c",
        expressions=expressions,
        times=times,
        metrics=tuple(GivenSamples(name, values) for name, values in metrics.items()),
        interval=times.step,
    )
    return evaluate(question, program=program)


@pytest.mark.parametrize(
    "text",
    [
        "1 2.5 -3e2 +4",
        "-2+4x3 1-2x4  1x4 ",
        " 1 _x3 stale 5",
        "0x2 7x0 1e1+1e0x1 .5 5. 0+0.1x20",
        "1 Inf -Inf NaN 0.1-0.3x7",
    ],
)
def test_promtool_reads_the_same_values(program: Path, text: str) -> None:
    ours = expand(text)
    found = ask(program, "s", values=text, count=len(ours) + 1)
    (_, theirs) = found.series[0] if len(found.series) == 1 else ((), ())
    assert found.runs == len(ours) + 1
    assert [None if each is None else repr(each) for each in theirs] == [
        None if each is None else repr(each) for each in (*ours, None)
    ]


@pytest.mark.parametrize(
    "text", ["1 two", "1 2x", "1 2xx3", "1+2", "_+1x3", "1 stalex2", "1 Infx2", "1,2"]
)
def test_promtool_refuses_the_same_texts(program: Path, text: str) -> None:
    with pytest.raises(SeriesValuesError):
        expand(text)
    with pytest.raises(QueryError, match="promtool refuses the metrics"):
        ask(program, "s", values=text, count=1)


def test_results_keep_their_labels(program: Path) -> None:
    labels = r'{node="a, {x}\" \\ é", pod="}"}'
    found = ask(program, "s * 2", "s > 5", values="1 6 _", count=3, name=f"s{labels}")
    assert {(labels[0], labels[4], values) for labels, values in found.series} == {
        ('a, {x}" \\ é', "}", (2.0, 12.0, None)),
        ('a, {x}" \\ é', "}", (None, 6.0, None)),
    }


def test_the_test_of_the_page_passes(program: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs/decisions/preview.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(# tests/idle-cpu.yaml\n.*?)```", page, re.DOTALL)
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    (tmp_path / "fleet" / "tests" / "idle-cpu.yaml").write_text(text)
    done = gitops_dsf("test", "--promtool", program, cwd=tmp_path / "fleet")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "expected"),
    [("opencost.yaml", 5.0), ("carbon.yaml", 350.0), ("energy-price.yaml", 30.0)],
)
def test_a_query_gives_one_number_for_the_cluster(
    program: Path, file: str, expected: float
) -> None:
    """With series as their exporters write them, of an hour."""
    capacity = "kube_node_status_capacity"
    grid = 'provider="Ember",location="DEU",units="gCO2e per kWh"'
    metrics = {
        'node_total_hourly_cost{node="n1"}': "0.4x60",
        'node_total_hourly_cost{node="n2"}': "0.2x60",
        f'{capacity}{{node="n1",resource="cpu"}}': "8x60",
        f'{capacity}{{node="n2",resource="cpu"}}': "4x60",
        f'{capacity}{{node="n1",resource="pods"}}': "110x60",
        f"grid_intensity_carbon_average{{{grid}}}": "300 400 " * 30,
        'energy_price_cents{zone="DE-LU"}': "18x20 30x40",
    }
    query = yamlfast.load((ROOT / "examples/queries" / file).read_text("utf-8"))["spec"]["source"][
        "params"
    ]
    found = evaluated(program, query["query"], metrics=metrics, times=range(59 * 60, 60 * 60, 60))
    [(labels, values)] = found.series
    assert not any(labels)
    assert list(values) == pytest.approx([expected])


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"),
        ("check", "rules", "--lint=all", "--lint-fatal", "agent-rules.yaml"),
        ("test", "rules", "rules_test.yaml"),
    ],
    ids=" ".join,
)
def test_alerts_fire_where_they_should_and_nowhere_else(
    program: Path, arguments: tuple[str, ...]
) -> None:
    answer = subprocess.run(
        [program, *arguments],
        cwd=ROOT / "monitoring",
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
