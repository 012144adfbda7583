"""docs/operate/agent.md lists the reasons of the program, the help of each flag has its variable and
default, and the shipped alerts use metrics that exist.
"""

import argparse
import re
from pathlib import Path

from dsf_agent.configuration import settings
from dsf_agent.errors import Reason
from dsf_agent.metrics.registry import Metrics
from dsf_wire.rawscores import CLUSTER_LABEL, METRIC
from tests.support import yamlfast
from tools.metricsreference import metrics_page

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/operate/agent.md").read_text(encoding="utf-8")
METRICS = metrics_page()


def _table(title: str) -> list[list[str]]:
    """The rows of the table under a heading, without backquotes."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().replace("`", "") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def _flags() -> dict[str, tuple[str, str]]:
    """The variable and the default that the help of each flag has in brackets."""
    verbs = next(
        action for action in settings.parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    flags = {
        option: action.help or ""
        for verb in verbs.choices.values()
        for action in verb._actions
        for option in action.option_strings
    }
    found = {}
    for flag, text in flags.items():
        if flag not in {"-h", "--help", "--scorer"}:
            inside = re.search(r"\[([A-Z_]+)(?:; (.*))?\]$", text)
            assert inside is not None, f"{flag}: {text}"
            found[flag] = (inside[1], inside[2] or "")
    return found


def test_flags() -> None:
    """The help of each flag names the variable that the program reads."""
    for flag, (variable, _) in _flags().items():
        assert variable == flag.removeprefix("--").upper().replace("-", "_")


def test_defaults() -> None:
    """The defaults in the help are those of the program."""
    read = settings.read(
        settings.parser().parse_args(["run", "--cluster-name", "c", "--publish", "dir:x"]), {}
    )
    rows = {flag: default for flag, (_, default) in _flags().items()}
    for flag, value in (
        ("--splay", read.splay_seconds),
        ("--request-timeout", read.limits.total_seconds),
        ("--max-answer-bytes", read.limits.answer_bytes),
        ("--max-bytes-in-flight", read.bytes_in_flight),
    ):
        assert float(rows[flag]) == value, flag
    assert rows["--config-dir"] == str(read.config_dir)
    assert rows["--install-namespace"] == read.namespace
    assert rows["--hub-namespace"] == read.hub_namespace


def _metrics() -> dict[str, tuple[str, ...]]:
    metrics = Metrics(cluster="c")
    found: dict[str, tuple[str, ...]] = {METRIC: (CLUSTER_LABEL,)}
    for value in [*vars(metrics).values(), *metrics.seconds.values()]:
        if hasattr(value, "_labelnames"):
            name = f"{value._name}_total" if value._type == "counter" else value._name
            found[name] = value._labelnames
    return found


def test_metrics() -> None:
    """The generated reference has each metric with its labels."""
    rows = [row.split("|") for row in METRICS.splitlines() if row.startswith("| `")]
    listed = {row[1].strip(" `"): row[3] for row in rows}
    for name, labels in _metrics().items():
        assert all(f"`{label}`" in listed[name] for label in labels), name


def test_reasons() -> None:
    """Each reason, with its meaning and what to do."""
    rows = _table("Reasons of failures")
    assert {row[0] for row in rows} == {reason.value for reason in Reason}
    assert all(len(row) == 3 and all(row) for row in rows)


def test_alerts_and_dashboard_use_metrics_that_exist() -> None:
    """All metrics in the shipped rules for agents and in the dashboard are in the table."""
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
