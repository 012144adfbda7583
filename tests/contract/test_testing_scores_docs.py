"""docs/decisions/preview.md: its test passes on the fleet of `init`, and fails as the page shows."""

import re
from pathlib import Path

import pytest

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.repository.model.series_values import expand
from tests.contract.test_tutorial import shown
from tests.support.commandline import gitops_dsf

PAGE = (Path(__file__).parents[2] / "docs/decisions/preview.md").read_text(encoding="utf-8")
ALL = re.findall(r"```yaml\n(# (tests/\S+)\n.*?)```", PAGE, re.DOTALL)
TESTS = [(text, file) for text, file in ALL if "metrics:" not in text]
"""Those that need no promtool. tests/hub/test_score_test_queries.py runs the other one."""
SHOWN = re.search(r"```console\n\$ gitops-dsf ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
SERIES = re.findall(r"^\| `([^`]+)` \| ([-\d ]+): a value|^\| `([^`]+)` \| ([-\d ]+) \|$", PAGE, re.MULTILINE)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    for text, file in TESTS:
        (tmp_path / "fleet" / file).write_text(text, encoding="utf-8")
    return tmp_path / "fleet"


def test_the_tests_of_the_page_pass(fleet: Path) -> None:
    done = gitops_dsf("test", cwd=fleet)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{len(TESTS) + 1} tests passed\n")


def test_a_failure_looks_as_shown(fleet: Path) -> None:
    assert SHOWN is not None
    application = fleet / "apps" / "guestbook.yaml"
    application.write_text(application.read_text("utf-8").replace("stickiness: 20", "stickiness: 0"), "utf-8")
    done = gitops_dsf(*(word.strip("'") for word in SHOWN[1].split()), cwd=fleet)
    assert done.returncode == 1
    shown(done.stdout.splitlines(), SHOWN[2].splitlines(), SHOWN[1])


def test_the_notation_means_what_the_table_says() -> None:
    pairs = [(first or second, values or other) for first, values, second, other in SERIES]
    assert len(pairs) == 2
    for written, values in pairs:
        assert list(expand(written)) == [float(value) for value in values.split()]
