"""`gitops-dsf test` with the real promtool: it evaluates queries over given metrics, and reads the values of
series as we do.
"""

import re
from pathlib import Path

import pytest

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.metricstore.promtool import Promtool
from gitops_dsf.repository.model.series_values import SeriesValuesError, expand
from gitops_dsf.views.scoretests.queries import Answer, QueryError, Question
from tests.hub.controlplane.binaries import obtain
from tests.support.commandline import gitops_dsf

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

STEP = 600
"""Longer than the 5 minutes for which Prometheus looks back, so that each value counts once."""


@pytest.fixture(scope="module")
def program() -> Path:
    return Path(obtain("prometheus").path("promtool"))


def ask(program: Path, *expressions: str, values: str, count: int, name: str = "s") -> Answer:
    return Promtool(program).evaluate(
        Question(
            scorer="s",
            cluster="c",
            expressions=expressions,
            times=range(0, count * STEP, STEP),
            metrics=((name, values),),
            interval=STEP,
        )
    )


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


@pytest.mark.parametrize("text", ["1 two", "1 2x", "1 2xx3", "1+2", "_+1x3", "1 stalex2", "1 Infx2", "1,2"])
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
    page = (Path(__file__).parents[2] / "docs/decisions/preview.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(# tests/idle-cpu.yaml\n.*?)```", page, re.DOTALL)
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    (tmp_path / "fleet" / "tests" / "idle-cpu.yaml").write_text(text)
    done = gitops_dsf("test", "--promtool", program, cwd=tmp_path / "fleet")
    assert done.returncode == 0, done.stdout
