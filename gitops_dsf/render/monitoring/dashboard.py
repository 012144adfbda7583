"""The Grafana dashboard: the rows of rows.py, laid out on Grafana's grid of 24 columns.

The JSON is Grafana's dashboard model as its documentation names it ("Dashboard JSON model", schemaVersion 39,
Grafana 10.4 and newer). Every query goes through the variable `datasource`, so that it works with any
Prometheus.
"""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.render.monitoring.panel import Json, Panel
from gitops_dsf.render.monitoring.promql import RECONCILER
from gitops_dsf.render.monitoring.rows import ROWS

UID: Final = "gitops-dsf"
SCHEMA_VERSION: Final = 39
COLUMNS: Final = 24

_DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> Json:
    """The whole model, for a file or for a ConfigMap that Grafana's sidecar reads."""
    return {
        "uid": UID,
        "title": "gitops-dsf",
        "description": "Scores, decisions and moves of a fleet",
        "tags": ["gitops-dsf", "open-cluster-management", "argocd"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "",
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": [_source_variable(), _scorer_variable()]},
        "panels": list(_panels()),
    }


def _source_variable() -> Json:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
    }


def _scorer_variable() -> Json:
    query = f"label_values({RECONCILER}_scorer_healthy, scorer)"
    return {
        "name": "scorer",
        "label": "Scorer",
        "type": "query",
        "datasource": _DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": "scorer"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "hide": 0,
    }


def _panels() -> Iterator[Json]:
    """Rows from top to bottom; a panel that does not fit beside the others begins a new line of its row."""
    number = y = 0
    for row in ROWS:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
        }
        y += 1
        x = 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y = 0, y + row.height
            number += 1
            yield _panel(panel, number, {"x": x, "y": y, "w": panel.width, "h": row.height})
            x += panel.width
        y += row.height


def _panel(panel: Panel, number: int, place: Json) -> Json:
    instant = panel.kind in {"stat", "table"}
    defaults: Json = {"unit": panel.unit, "mappings": panel.mappings}
    if panel.thresholds:
        steps = [{"value": value, "color": color} for value, color in panel.thresholds]
        defaults |= {"thresholds": {"mode": "absolute", "steps": steps}, "color": {"mode": "thresholds"}}
    if panel.kind == "timeseries":
        stacking = (
            {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 30}
            if panel.stacked
            else {"fillOpacity": 5}
        )
        defaults |= {"min": 0, "custom": {"drawStyle": "line", "lineWidth": 1, **stacking}}
    found: Json = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel.kind),
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _DATASOURCE,
                "expr": expression,
                "legendFormat": legend,
                "instant": instant,
                "range": not instant,
                "format": "table" if panel.kind == "table" else "time_series",
            }
            for index, (expression, legend) in enumerate(panel.queries)
        ],
    }
    if panel.kind == "table":
        shown = {
            "Time": True,
            "Value": True,
            "__name__": True,
            "job": True,
            "instance": True,
            "namespace": True,
            "pod": True,
        }
        found["transformations"] = [{"id": "organize", "options": {"excludeByName": shown}}]
    return found


def _options(kind: str) -> Json:
    match kind:
        case "stat":
            return {
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                "colorMode": "background",
                "graphMode": "none",
            }
        case "timeseries":
            return {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        case "state-timeline":
            return {
                "showValue": "never",
                "mergeValues": True,
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            }
        case "status-history":
            return {
                "showValue": "auto",
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
            }
        case _:
            return {"showHeader": True}
