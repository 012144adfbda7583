"""Recognises pages of metric stores, which people copy from the address bar of a browser."""

import re
from typing import Final

from gitops_dsf.urls.parts import _parts

_PAGES: Final = re.compile(
    r"(?P<base>.*?)(?:/classic)?/(?P<page>graph|targets|alerts|vmui|explore|d/[^/]+(?:/[^/]+)?)"
)
"""Of Prometheus and Thanos (graph, targets, alerts), VictoriaMetrics (vmui) and Grafana (explore,
d).
"""


_TENANT: Final = re.compile(r".*/select/[0-9]+(?::[0-9]+)?")
"""Where a tenant of a VictoriaMetrics cluster is. Its vmui is there, and its query API below
prometheus.
"""


_EXPRESSION: Final = "g0.expr="
"""In the query or fragment of a page, not of an API: the first graph's expression."""


def is_store_page(url: str) -> bool:
    """Whether a URL is a page of a metric store or of Grafana, as a browser's address bar has it."""
    parts = _parts(url)
    shown = _EXPRESSION in parts.query or _EXPRESSION in parts.fragment
    return shown or _PAGES.fullmatch(parts.path.rstrip("/")) is not None


def store_of_page(url: str) -> str:
    """The base URL of the store whose page this is; empty if the page is Grafana's."""
    parts = _parts(url)
    path = parts.path.rstrip("/")
    found = _PAGES.fullmatch(path)
    base = found["base"] if found is not None else path.removesuffix("/query")
    if found is not None and found["page"].startswith(("explore", "d/")):
        return ""
    if _TENANT.fullmatch(base):
        base += "/prometheus"
    return parts._replace(path=base, query="", fragment="").geturl()
