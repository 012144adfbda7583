"""docs/decisions/backtest.md: its example runs as shown."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.commandline import gitops_dsf

PAGE = (Path(__file__).parents[2] / "docs/decisions/backtest.md").read_text(encoding="utf-8")
SCRIPT = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.search(r"```console\n(.*?)```", PAGE, re.DOTALL)
LINE = re.search(r"line (\d+) of `apps/guestbook.yaml` becomes", PAGE)
CHANGE = re.search(r"```diff\n-(.*?)\n\+(.*?)\n```", PAGE)


def test_the_example_runs_as_shown(tmp_path: Path) -> None:
    assert SCRIPT is not None
    assert SHOWN is not None
    assert CHANGE is not None
    assert LINE is not None
    init, _, backtest, expected = SHOWN[1].split("\n", 3)
    ran = subprocess.run([sys.executable, "-c", SCRIPT[1]], capture_output=True, check=True)
    (tmp_path / "scores.json").write_bytes(ran.stdout)
    made = gitops_dsf(*shlex.split(init)[2:], cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    application = tmp_path / "fleet" / "apps" / "guestbook.yaml"
    before = application.read_text("utf-8").splitlines()
    done = gitops_dsf(*shlex.split(backtest)[2:], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, expected)
    assert before[int(LINE[1]) - 1] == CHANGE[1], "the advice names the line"
    assert CHANGE[2] == CHANGE[1].replace("20", "25")
