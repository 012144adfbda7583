"""Paths of the query API of Prometheus, and of the stores that imitate it."""

from typing import Final

from gitops_dsf.urls.parts import parts_of

API_PATH: Final = "/api/v1"
QUERY_PATH: Final = f"{API_PATH}/query_range"
INSTANT_PATH: Final = f"{API_PATH}/query"


def is_query_api(path: str) -> bool:
    """Whether a path is that of a query API of Prometheus, whatever is before it.

    Other paths are those below which the API is, such as /select/0/prometheus.
    """
    return path.rstrip("/").endswith(("/query", "/query_range"))


def query_api_below(path: str, *, of_instant: bool) -> str:
    """The path of a query API below a base path, which may have /api/v1 already."""
    query_api = INSTANT_PATH if of_instant else QUERY_PATH
    # Some stores document their base URL with /api/v1, and some without.
    if path.rstrip("/").endswith(API_PATH):
        return query_api.removeprefix(API_PATH)
    return query_api


def instant(url: str) -> str:
    """The URL, or path, of the instant query beside a range query. Others stay as they are."""
    bare = url.rstrip("/")
    return bare.removesuffix("_range") if bare.endswith("/query_range") else url


def ranged(url: str) -> str:
    """The URL of the range query of a store: of its base URL, or of one of its query APIs."""
    parts = parts_of(url)
    path = parts.path.rstrip("/")
    if not is_query_api(path):
        path += query_api_below(path, of_instant=False)
    elif not path.endswith("_range"):
        path += "_range"
    return parts._replace(path=path).geturl()
