"""docs/scores/scorers.md: its code works as printed, its tables are complete."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dsf_scorer import Settings
from dsf_scorer.command import main
from tests.support.scorer.projecttests import run_project_tests
from tests.support.scorer.serving import serving

GUIDE = (Path(__file__).parents[3] / "docs/scores/scorers.md").read_text()
BLOCKS = dict(re.findall(r'^```python title="(\S+)"\n(.*?)^```$', GUIDE, re.MULTILINE | re.DOTALL))


def sample(value: str, **labels: str) -> dict[str, Any]:
    return {"metric": labels, "values": [[1_700_000_000, value], [1_700_000_060, value]]}


def test_the_first_example_passes_the_test_in_the_guide(
    tmp_path: Path, warm_programs: Path
) -> None:
    for name in ("scorer.py", "test_scorer.py"):
        (tmp_path / name).write_text(BLOCKS[name])
    options = ("-q", "-W", "error", f"--rootdir={tmp_path}")
    done = run_project_tests(tmp_path, *options, programs=warm_programs)
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("scorer", None),
        ("ratio", {"data": [sample("6"), sample("4")]}),
        ("priced", {"data": [sample("1", kind="m")], "arguments": {"prices": {"m": 2.5}}}),
    ],
)
def test_an_example_passes_the_contract_test(
    name: str,
    data: dict[str, Any] | None,
    tmp_path: Path,
    warm_programs: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / f"{name}.py").write_text(BLOCKS[f"{name}.py"])
    options = []
    if data is not None:
        (tmp_path / "data.json").write_text(json.dumps(data))
        options = ["--data", str(tmp_path / "data.json")]
    with serving(f"{name}:app", tmp_path, programs=warm_programs) as served:
        code = main(["check", served.url, *options])
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("field", fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_in_the_table_with_its_default(field: "object") -> None:
    name, default = field.name, field.default  # type: ignore[attr-defined]
    row = re.search(rf"^\| `SCORER_{name.upper()}` \|.*\| (.*) \|$", GUIDE, re.MULTILINE)
    assert row is not None
    if isinstance(default, int | float):
        assert float(row[1]) == default
