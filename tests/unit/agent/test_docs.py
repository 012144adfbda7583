"""docs/operate/agent.md lists the reasons of the program, and the shipped alerts use metrics that exist."""

import re
from pathlib import Path

from dsf_agent.errors import Reason
from tests.support import yamlfast
from tools.reference import metrics_page

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/operate/agent.md").read_text(encoding="utf-8")
METRICS = metrics_page()


def _table(title: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().replace("`", "") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_reasons() -> None:
    rows = _table("Reasons of failures")
    assert {row[0] for row in rows} == {reason.value for reason in Reason}
    assert all(len(row) == 3 and all(row) for row in rows)


def test_alerts_and_dashboard_use_metrics_that_exist() -> None:
    (group,) = yamlfast.load((ROOT / "monitoring" / "agent-rules.yaml").read_text(encoding="utf-8"))["groups"]
    agents = group["rules"]
    texts = [rule["expr"] for rule in agents] + [
        (ROOT / "monitoring" / "dashboard.json").read_text(encoding="utf-8")
    ]
    known = {re.sub(r"_total$", "", name) for name in re.findall(r"^\| `(\w+)`", METRICS, re.MULTILINE)}
    asked = {name for text in texts for name in re.findall(r"\b(?:gitops_dsf_agent|dynamic_scor)\w+", text)}
    assert agents
    assert len(asked) >= 3
    assert {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in asked} <= known
