"""Reads receivers for OpenTelemetry metrics, which people reach with `kubectl port-forward`."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import httpx

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.views.doctor.receivers import Receiver

WINDOW: Final = "10m"
MOST_METRICS: Final = 50
MOST_SERIES: Final = 5
"""Series that are read of each metric."""
_MOST_BYTES: Final = 16 << 20
_TIMEOUT: Final = 30.0
_WORD: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


class _RefusedError(Exception):
    """The receiver gave no usable answer."""


def read_receivers(addresses: Mapping[str, str], scorers: Iterable[DynamicScorer]) -> tuple[Receiver, ...]:
    """Reads the receiver of each cluster, by its URL. A failure becomes part of the result."""
    words = {
        word
        for item in scorers
        if item.reads_pushed_metrics
        for word in _WORD.findall(item.spec.source.params.query)
    }
    return tuple(_read(cluster, url.rstrip("/"), words) for cluster, url in sorted(addresses.items()))


def _read(cluster: str, url: str, words: set[str]) -> Receiver:
    try:
        with httpx.Client(base_url=f"{url}/api/v1/", timeout=_TIMEOUT, trust_env=False) as client:
            names = [name for name in _get(client, "label/__name__/values") if name in words]
            series = tuple(
                (name, values) for name in names[:MOST_METRICS] for values in _samples(client, str(name))
            )
    except (httpx.HTTPError, httpx.InvalidURL, _RefusedError) as error:
        why = str(error) or type(error).__name__
        return Receiver(cluster=cluster, url=url, failure=f"{url} cannot be read: {why}")
    return Receiver(cluster=cluster, url=url, series=series)


def _samples(client: httpx.Client, name: str) -> Iterable[tuple[float, ...]]:
    """Values of the series with the most samples: a series that two collectors push has twice as many."""
    busiest = f'topk({MOST_SERIES}, count_over_time({{__name__="{name}"}}[{WINDOW}]))'
    for found in _query(client, busiest):
        matchers = ",".join(
            f"{label}={json.dumps(value, ensure_ascii=False)}"
            for label, value in {"__name__": name, **found["metric"]}.items()
        )
        for series in _query(client, f"{{{matchers}}}[{WINDOW}]"):
            if "values" in series and len(series["metric"]) == len(found["metric"]) + 1:
                yield tuple(float(value) for _, value in series["values"])


def _query(client: httpx.Client, query: str) -> list[dict[str, Any]]:
    answer = _get(client, "query", query=query)
    found = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise _RefusedError("it does not answer as Prometheus does")
    return found


def _get(client: httpx.Client, path: str, **parameters: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    body = bytearray()
    with client.stream("GET", path, params=parameters) as response:
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise _RefusedError(f"its answer has more than {_MOST_BYTES >> 20} MiB")
    try:
        document = json.loads(body)
        if document["status"] != "success":
            raise _RefusedError(f"{document.get('errorType')}: {document.get('error')}")
        return document["data"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _RefusedError("it does not answer as Prometheus does") from error
