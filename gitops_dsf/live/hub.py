"""Clusters, sets, bindings, scores and decisions of a hub, read through the kubeconfig; nothing is written to the hub."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gitops_dsf.errors import HubError
from gitops_dsf.hub.collect import JsonDocument, collect
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.live.kubeconfig import reading

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

GROUP = "cluster.open-cluster-management.io"
RESOURCES = (
    ("ManagedCluster", "v1", "managedclusters"),
    ("ManagedClusterSet", "v1beta2", "managedclustersets"),
    ("ManagedClusterSetBinding", "v1beta2", "managedclustersetbindings"),
    ("PlacementDecision", "v1beta1", "placementdecisions"),
    ("AddOnPlacementScore", "v1alpha1", "addonplacementscores"),
)
PAGE = 500
"""Objects per request: the API server answers pages of this size from its cache in milliseconds."""
TIMEOUT_SECONDS = 30
_HINTS = {
    401: "; log in again",
    403: "; reading needs the verb list on it, in every namespace",
    404: "; this cluster is no OCM hub",
    410: "; the list changed while it was read: try again",
}


def observe(*, context: str, kubeconfig: Path | None = None, resources: frozenset[str] | None = None) -> Snapshot:
    """What a hub holds now; of scores only those of these names.

    Raises HubError when the kubeconfig, the hub or the rights do not allow it.
    """
    client = connect(context, kubeconfig)
    close: Callable[[], None] = client.close
    origin, observed_at = f"context {context}", datetime.now(UTC)
    try:
        found = iter(_documents(client, context))
        first = next(found, None)
        if first is None:
            return Snapshot(origin=origin, observed_at=observed_at)
        return collect(chain((first,), found), origin=origin, observed_at=observed_at, resources=resources)
    finally:
        close()


def _documents(client: "ApiClient", context: str) -> Iterator[JsonDocument]:
    """Every object, page by page; the API server leaves the kind out of the items of a list."""
    for kind, version, plural in RESOURCES:
        place = f"{context}: {kind}"
        for item in raw_items(client, context, f"/apis/{GROUP}/{version}/{plural}"):
            yield JsonDocument(place=place, kind=kind, text=item)


def connect(context: str, kubeconfig: Path | None) -> "ApiClient":
    """A client for a context of the kubeconfig, to be closed. Raises HubError when the package or the context is not there."""
    try:
        from kubernetes import config  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        msg = "asking a hub needs the Kubernetes client: pip install 'gitops-dsf[live]'"
        raise HubError(msg) from error
    new_client: Callable[..., ApiClient] = config.new_client_from_config
    with reading(f"context {context}", config.ConfigException):
        return new_client(config_file=str(kubeconfig) if kubeconfig else None, context=context)


class _More(msgspec.Struct, frozen=True, rename={"token": "continue"}):
    token: str = ""


class _Page(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None
    metadata: _More = _More()


def items(client: "ApiClient", context: str, path: str, *, optional: bool = False) -> Iterator[dict[str, Any]]:
    """Every object of a resource, as plain data. Raises HubError."""
    for raw in raw_items(client, context, path, optional=optional):
        yield msgspec.json.decode(raw, type=dict[str, Any])


def raw_items(client: "ApiClient", context: str, path: str, *, optional: bool = False) -> Iterator[msgspec.Raw]:
    """Every object of a resource, undecoded, page by page; none where an optional one is not installed. Raises HubError."""
    token = ""
    while True:
        page = _get(client, context, path, [("limit", PAGE), *([("continue", token)] if token else [])], optional=optional)
        yield from page.items or ()
        token = page.metadata.token
        if not token:
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the hub said to one GET."""

    status: int
    reason: str
    body: bytes = field(repr=False)
    date: str | None
    """The hub's clock: the Date header (RFC 9110 section 6.6.1), whole seconds."""
    asked: float
    """Seconds since 1970, by this machine's clock."""
    answered: float


def ask(client: "ApiClient", context: str, path: str, query: Sequence[tuple[str, Any]], *, accept: str = "application/json") -> Answer:
    """One GET, whatever its status. Raises HubError when the hub does not answer."""
    from kubernetes.client import ApiException  # noqa: PLC0415 - see connect
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - comes with it

    asked = time.time()
    try:
        request = client.param_serialize(
            "GET", path, query_params=list(query), header_params={"Accept": accept}, auth_settings=["BearerToken"]
        )
        response = client.call_api(*request, _request_timeout=TIMEOUT_SECONDS)
        status, reason, body, date = response.status, response.reason, response.response.data, response.response.headers.get("Date")
    except (ApiException, HTTPError, OSError) as error:
        # Of a request that was tried again and again, the reason of the last time.
        msg = f"context {context}: the hub does not answer: {getattr(error, 'reason', None) or error}"
        raise HubError(msg) from error
    return Answer(status=status, reason=reason, body=body, date=date, asked=asked, answered=time.time())


def refusal(context: str, path: str, answer: Answer) -> HubError:
    """An answer that is no content, as an error for people."""
    return HubError(f"context {context}: GET {path}: {answer.status} {answer.reason}{_HINTS.get(answer.status, '')}")


def _get(client: "ApiClient", context: str, path: str, query: list[tuple[str, Any]], *, optional: bool) -> _Page:
    answer = ask(client, context, path, query)
    if answer.status == HTTPStatus.NOT_FOUND and optional:
        return _Page()
    if answer.status != HTTPStatus.OK:
        raise refusal(context, path, answer)
    try:
        return msgspec.json.decode(answer.body, type=_Page)
    except msgspec.ValidationError as error:
        msg = f"context {context}: GET {path}: the answer is not an object: {error}"
        raise HubError(msg) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"context {context}: GET {path}: the answer is not JSON: {error}"
        raise HubError(msg) from error
