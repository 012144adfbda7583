"""docs/agent.md lists exactly the flags, metrics and reasons of the program, and the shipped alerts use
metrics that exist.
"""

import argparse
import re
from pathlib import Path

from dsf_agent.configuration import settings
from dsf_agent.errors import Reason
from dsf_agent.metrics.registry import Metrics
from dsf_wire.rawscores import CLUSTER_LABEL, METRIC
from tests.support import yamlfast

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")


def _table(title: str) -> list[list[str]]:
    """The rows of the table under a heading, without backquotes."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().replace("`", "") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def _flags() -> set[str]:
    verbs = next(
        action for action in settings.parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {
        option
        for verb in verbs.choices.values()
        for action in verb._actions
        for option in action.option_strings
    } - {"-h", "--help"}


def test_flags() -> None:
    """Each flag with the variable that the program reads."""
    rows = {row[0]: row[1] for row in _table("Flags and environment")}
    assert set(rows) == _flags()
    for flag, variable in rows.items():
        assert variable == ("-" if flag == "--scorer" else settings.variable(flag.removeprefix("--")))


def test_defaults() -> None:
    """The numbers in the table are the defaults of the program."""
    read, _ = settings.read(["run", "--cluster-name", "c", "--publish", "dir:x"], {})
    rows = {row[0]: row[2] for row in _table("Flags and environment")}
    for flag, value in (
        ("--config-poll", read.poll_seconds),
        ("--suspension-poll", read.suspension_seconds),
        ("--prune-delay", read.prune_delay_seconds),
        ("--splay", read.splay_seconds),
        ("--shutdown-grace", read.grace_seconds),
        ("--hub-timeout", read.hub_timeout_seconds),
        ("--request-timeout", read.limits.total_seconds),
        ("--max-answer-bytes", read.limits.answer_bytes),
        ("--max-bytes-in-flight", read.bytes_in_flight),
        ("--max-calls-per-origin", read.limits.per_origin),
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
    """Each metric with its labels."""
    rows = {row[0]: row[1] for row in _table("Metrics")}
    known = _metrics()
    also = {
        "gitops_dsf_agent_hub_clock_offset_seconds",
        "gitops_dsf_agent_build_info",
        "gitops_dsf_agent_cluster_missing",
    }
    assert set(rows) - also == set(known) - also
    for name, labels in known.items():
        assert all(label in rows[name] for label in labels), name


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
    known = {re.sub(r"_total$", "", row[0]) for row in _table("Metrics")}
    asked = {name for text in texts for name in re.findall(r"\b(?:gitops_dsf_agent|dynamic_scor)\w+", text)}
    assert agents
    assert len(asked) >= 3
    assert {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in asked} <= known
