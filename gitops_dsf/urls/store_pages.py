"""Recognises pages of metric stores, which people copy from the address bar of a browser."""

import re
from typing import Final

from gitops_dsf.urls.parts import parts_of

_PAGES: Final = re.compile(
    r"(?P<base>.*?)(?:/classic)?/(?P<page>graph|targets|alerts|vmui|explore|d/[^/]+(?:/[^/]+)?)"
)
"""Prometheus and Thanos: graph, targets, alerts; VictoriaMetrics: vmui; Grafana: explore, d."""
_TENANT: Final = re.compile(r".*/select/[0-9]+(?::[0-9]+)?")
"""The path of a tenant of a VictoriaMetrics cluster.

Its vmui is there, and its query API below prometheus.
"""
_EXPRESSION: Final = "g0.expr="
"""The first graph's expression. It is in the query or fragment of a page, and not of an API."""


def is_store_page(url: str) -> bool:
    """Whether a URL is a page of a metric store or of Grafana."""
    parts = parts_of(url)
    if _EXPRESSION in parts.query or _EXPRESSION in parts.fragment:
        return True
    return _PAGES.fullmatch(parts.path.rstrip("/")) is not None


def store_of_page(url: str) -> str:
    """The base URL of the store whose page this is; empty if the page is Grafana's.

    A page of Grafana does not say which store it reads.
    """
    parts = parts_of(url)
    path = parts.path.rstrip("/")
    match = _PAGES.fullmatch(path)
    # The graph of Prometheus 3 is at /query, which is not a page by its path alone: /api/v1/query
    # ends in the same way.
    if match is None:
        base = path.removesuffix("/query")
    elif match["page"].startswith(("explore", "d/")):
        return ""
    else:
        base = match["base"]
    if _TENANT.fullmatch(base):
        base += "/prometheus"
    return parts._replace(path=base, query="", fragment="").geturl()
