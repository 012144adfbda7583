"""Alert rules and dashboard: queries that parse, of series and labels that exist.

What the alerts do is in monitoring/rules_test.yaml, which tests/hub/test_promtool.py runs with
promtool.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from prometheus_client import CollectorRegistry

from dsf_agent.metrics import AgentMetrics
from dsf_runtime.clock import HubClock
from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from tests.support import yamlfast
from tests.support.rendering import objects, rendered, scorer

ROOT = Path(__file__).parents[3]
COLUMNS = 24
"""Of Grafana's grid."""
GROUPS = [
    group
    for name in ("rules.yaml", "agent-rules.yaml")
    for group in yamlfast.load((ROOT / "monitoring" / name).read_text(encoding="utf-8"))["groups"]
]
RULES = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES}
DASHBOARD = json.loads((ROOT / "monitoring/dashboard.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SCRAPED = frozenset({"job", "instance", "cluster"})
"""Labels that scraping adds; cluster where one Prometheus has the metrics of many."""
TYPE_SUFFIX = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}


def queries() -> Iterator[tuple[str, str]]:
    """(where, PromQL) of every alert and panel, with Grafana's variables filled in."""
    for name, alert in ALERTS.items():
        yield name, alert["expr"]
    for panel in PANELS:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "5m")
            text = re.sub(r"\$(scorer|score|cluster|placement)\b", ".*", text)
            yield f"{panel['title']} {target['refId']}", text


QUERIES = dict(queries())


def series(registry: CollectorRegistry) -> dict[str, frozenset[str]]:
    """Every series name that a registry exposes, with its labels."""
    found = {}
    for collector in list(registry._collector_to_names):
        kind = getattr(collector, "_type", None)
        if kind is None:
            for family in collector.collect():
                found[family.name] = frozenset(family._labelnames)  # type: ignore[attr-defined]
            continue
        labels = frozenset(collector._labelnames)  # type: ignore[attr-defined]
        for suffix in TYPE_SUFFIX[kind]:
            extra = frozenset({"le"}) if suffix == "_bucket" else frozenset()
            found[f"{collector._name}{suffix}"] = labels | extra  # type: ignore[attr-defined]
    return found


@pytest.fixture(scope="module")
def known() -> dict[str, frozenset[str]]:
    agent = AgentMetrics(cluster="c")
    agent.watch_hub_offset(HubClock())
    raw = {METRIC: frozenset({SCORE_NAME_LABEL, CLUSTER_LABEL})}
    return series(ReconcilerMetrics().registry) | series(agent.registry) | raw


def nodes(tree: Any) -> Iterator[Any]:
    """A syntax tree, node by node."""
    yield tree
    for name in ("expr", "lhs", "rhs", "vector_selector"):
        child = getattr(tree, name, None)
        if child is not None:
            yield from nodes(child)
    for child in getattr(tree, "args", None) or ():
        yield from nodes(child)


class TestQueries:
    @pytest.mark.parametrize("where", QUERIES)
    def test_each_parses_and_names_series_and_labels_that_exist(
        self, where: str, known: dict[str, frozenset[str]]
    ) -> None:
        selected = 0
        for node in nodes(promql_parser.parse(QUERIES[where])):
            if type(node).__name__ != "VectorSelector":
                continue
            selected += 1
            assert node.name in known, f"{where}: nothing exposes {node.name}"
            wrong = (
                {matcher.name for matcher in node.matchers.matchers if matcher.name != "__name__"}
                - known[node.name]
                - SCRAPED
            )
            assert not wrong, f"{where}: {node.name} has no label {wrong}"
        assert selected, f"{where} asks for nothing"

    @pytest.mark.parametrize("where", QUERIES)
    def test_what_is_grouped_by_exists(self, where: str, known: dict[str, frozenset[str]]) -> None:
        for node in nodes(promql_parser.parse(QUERIES[where])):
            if type(node).__name__ == "AggregateExpr" and node.modifier is not None:
                names = [
                    inner.name
                    for inner in nodes(node.expr)
                    if type(inner).__name__ == "VectorSelector"
                ]
                assert set(node.modifier.labels) <= known[names[0]] | SCRAPED, (
                    f"{where}: {names[0]}"
                )


def kept_by_grafana(dashboard: Any) -> Any:
    """What Grafana reads of a dashboard."""
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))


def lost(given: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Paths of what Grafana's schema does not keep of a dashboard."""
    if isinstance(given, dict):
        for name, value in given.items():
            if not isinstance(kept, dict) or name not in kept:
                yield f"{path}.{name}"
            else:
                yield from lost(value, kept[name], f"{path}.{name}")
    elif isinstance(given, list):
        for index, value in enumerate(given):
            yield from lost(value, kept[index], f"{path}[{index}]")
    elif given != kept:
        yield path


class TestAlerts:
    def test_names_are_unique(self) -> None:
        assert len(ALERTS) == len(RULES)

    @pytest.mark.parametrize("name", ALERTS)
    def test_texts_use_labels_that_the_result_has(self, name: str) -> None:
        alert = ALERTS[name]
        grouped = re.match(r"^(?:min_over_time\(\()?(?:sum|max) by \(([^)]*)\)", alert["expr"])
        if grouped is None:
            return
        used = set(re.findall(r"\$labels\.(\w+)", "".join(alert["annotations"].values())))
        assert used <= {label.strip() for label in grouped[1].split(",")}

    @pytest.mark.parametrize("name", ALERTS)
    def test_a_test_sees_it_fire_and_the_docs_say_what_to_do(self, name: str) -> None:
        tests = (ROOT / "monitoring/rules_test.yaml").read_text(encoding="utf-8")
        assert re.search(rf'alertname(?:="|: ){name}\b', tests)
        docs = (ROOT / "docs/operate/monitoring.md").read_text(encoding="utf-8")
        severity = ALERTS[name]["labels"]["severity"]
        assert re.search(rf"^\| `{name}` \| {severity} \| \S", docs, re.MULTILINE)


class TestDashboard:
    def test_grafana_reads_all_of_it(self) -> None:
        """By the schema of Grafana 10.1, the oldest that the library has."""
        # Grafana 10.1 writes `definition` of a variable, but its schema does not name it.
        assert list(lost(DASHBOARD, kept_by_grafana(DASHBOARD))) == [
            f".templating.list[{index}].definition" for index in (1, 2, 4, 5)
        ]

    def test_the_schema_finds_a_key_that_it_does_not_know(self) -> None:
        """The healthy twin of the test above: a misspelt key of a panel is not kept."""
        wrong = json.loads(json.dumps(DASHBOARD))
        wrong["panels"][1]["gridPoss"] = {}
        assert ".panels[1].gridPoss" in list(lost(wrong, kept_by_grafana(wrong)))

    def test_panels_have_their_own_ids_and_places(self) -> None:
        panels = DASHBOARD["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        taken: set[tuple[int, int]] = set()
        for panel in panels:
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= COLUMNS
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & taken, panel["title"]
            taken |= cells

    def test_every_query_goes_to_a_chosen_datasource(self) -> None:
        """Raw scores may be in another store than what the reconciler says of itself."""
        variables = {item["name"]: item for item in DASHBOARD["templating"]["list"]}
        for name in ("datasource", "scores"):
            assert (variables[name]["type"], variables[name]["query"]) == (
                "datasource",
                "prometheus",
            )
        asking = [*PANELS, *(item for item in variables.values() if item["type"] == "query")]
        for item in asking:
            text = json.dumps([item.get("definition"), item.get("targets")])
            wanted = (
                "${scores}"
                if "dynamic_score" in text.replace("dynamic_scoring", "")
                else "${datasource}"
            )
            assert item["datasource"]["uid"] == wanted, item
            for target in item.get("targets", ()):
                assert target["datasource"]["uid"] == wanted, item["title"]
        for panel in PANELS:
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
            assert panel["description"]

    def test_values_below_zero_are_shown(self) -> None:
        """Scores and points can be negative."""
        for panel in PANELS:
            text = json.dumps(panel["targets"])
            if "dynamic_score{" in text or "placement_points" in text:
                assert "min" not in panel["fieldConfig"]["defaults"], panel["title"]

    def test_legends_use_labels_that_the_result_has(self) -> None:
        for panel in PANELS:
            for target in panel["targets"]:
                grouped = re.match(r"^(?:sum|max) by \(([^)]*)\)", target["expr"])
                used = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
                if grouped is not None:
                    assert used == {label.strip() for label in grouped[1].split(",")}, panel[
                        "title"
                    ]


class TestFiles:
    def test_rules_of_a_cluster_ask_for_nothing_that_only_the_hub_has(self) -> None:
        text = (ROOT / "monitoring/agent-rules.yaml").read_text(encoding="utf-8")
        assert "expr:" in text
        assert "gitops_dsf_reconciler" not in text


class TestManifests:
    def of(self, root: Path, **monitoring: bool) -> dict[str, dict[str, Any]]:
        found = objects(rendered(root, scorer("cpu"), reconciler={"monitoring": monitoring}))
        return {
            f"{item['kind']}/{item['metadata']['name']}": item
            for path, item in found.items()
            if path.startswith("reconciler/")
        }

    def test_what_is_asked_for_is_rendered_and_nothing_else(self, tmp_path: Path) -> None:
        unasked = self.of(tmp_path / "unasked")
        found = self.of(tmp_path / "asked", serviceMonitor=True, rules=True, dashboard=True)
        monitor, rules = (
            found["ServiceMonitor/gitops-dsf-reconciler"],
            found["PrometheusRule/gitops-dsf"],
        )
        board, service = (
            found["ConfigMap/gitops-dsf-dashboard"],
            found["Service/gitops-dsf-reconciler"],
        )
        assert [item for item in (monitor, rules, board) if item in unasked.values()] == []
        assert len(found) == len(unasked) + 3
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        assert wanted <= service["metadata"]["labels"].items()
        assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
        assert rules["spec"] == {"groups": GROUPS}
        assert board["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert json.loads(board["data"]["gitops-dsf.json"]) == DASHBOARD
        # An operator that is missing does not hold back the reconciler.
        for item in (monitor, rules):
            notes = item["metadata"]["annotations"]
            assert notes == {"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"}
