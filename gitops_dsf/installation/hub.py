"""Writes to a hub: server-side apply and deletions, also as a dry run of the API server.

Every error is a HubError that names the context. A dry run sends each request with `dryRun=All`, so
the API server validates it with its admission policies and stores nothing.

Not guaranteed: that several writes are one step. After an error the earlier ones stay, and a second
run completes them.
"""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec

from dsf_wire.constants import GENERATOR_MANAGER
from dsf_wire.text import printable
from gitops_dsf.errors import HubError
from gitops_dsf.hub.unread import Unread
from gitops_dsf.hubreader.hub import HubClient

try:
    from dsf_runtime.apiserver import APPLY, JSON, MERGE, ApiError
except ImportError as error:
    raise HubError(
        f"{error.name} is not installed; writing to a hub needs the extra live"
        " (docs/start/install.md)"
    ) from error

Manifest = dict[str, Any]
MAX_REQUESTS: Final = 32
"""Changes of objects that are sent at the same time."""
DRY_RUN: Final = {"dryRun": "All"}
"""The parameters of a request that the API server validates and does not store."""
EMPTY: Final[tuple[object, ...]] = (None, False, "", [], {})
"""Values of a field that mean the same as none."""


class _NotFoundError(HubError):
    """The object does not exist."""


class ConflictError(HubError):
    """Somebody else wrote the object after it was read."""


class ForbiddenError(HubError):
    """The API server does not allow the request.

    Rights are missing, or an admission policy forbids it.
    """


_REFUSALS: Final[Mapping[int, type[HubError]]] = {
    HTTPStatus.NOT_FOUND: _NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.UNPROCESSABLE_ENTITY: ForbiddenError,
}


class ApplyOutcome(StrEnum):
    """The outcome of an apply for an object."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class _Resource(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool


class _Resources(msgspec.Struct, frozen=True):
    resources: list[_Resource] = []


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A kind that the hub serves."""

    base: str
    """Such as `/apis/apps/v1`."""
    plural: str
    namespaced: bool

    def path(self, *, namespace: str = "", name: str = "") -> str:
        """The path of an object, or of all of them in a namespace or in the hub."""
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{self.base}{inside}/{self.plural}" + (f"/{name}" if name else "")


class WritableHub(HubClient):
    """An open hub.

    Its errors become HubErrors. With ``dry_run`` it validates every write and stores none.
    """

    def __init__(
        self, *, context: str, kubeconfig: Path | None = None, dry_run: bool = False
    ) -> None:
        super().__init__(context=context, kubeconfig=kubeconfig)
        self.kubeconfig = kubeconfig
        self.dry_run = dry_run
        self._served: dict[str, tuple[_Resource, ...]] = {}
        self._groups: dict[str, tuple[str, ...]] | None = None

    def command(self, *words: str) -> str:
        """A command of kubectl or gitops-dsf for this hub, quoted for a shell."""
        file = ("--kubeconfig", str(self.kubeconfig)) if self.kubeconfig is not None else ()
        return shlex.join((*words, *file, "--context", self.context))

    def apply(self, manifest: Manifest, *, force: bool, check: bool = False) -> ApplyOutcome:
        """Applies an object, and says what that did.

        `force` takes over fields that others own, `check` is a dry run. Raises HubError.
        """
        metadata = manifest["metadata"]
        group, _, version = manifest["apiVersion"].rpartition("/")
        kind = self.kind(group, version, kind=manifest["kind"])
        if kind is None:
            raise HubError(
                f"context {self.context}: the hub does not serve {manifest['kind']} of"
                f" {manifest['apiVersion']}"
            )
        path = kind.path(namespace=metadata.get("namespace", ""), name=metadata["name"])
        # The answer has what the API server filled in, too, so it is compared with what was there.
        before = self._find(path)
        # A boolean of a query is a word.
        forced = "true" if force else "false"
        answer = self._patch(path, manifest, APPLY, check=check, force=forced)
        if before is None:
            return ApplyOutcome.CREATED
        if _declared(before, manifest) == _declared(answer, manifest):
            return ApplyOutcome.UNCHANGED
        return ApplyOutcome.CHANGED

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        """Sends a JSON merge patch. Raises HubError."""
        self._patch(path, dict(change), MERGE, check=False)

    def delete(self, path: str, *, orphan: bool = False) -> bool:
        """Deletes an object; `orphan` keeps what it owns.

        Returns if it was there. Raises HubError.
        """
        # The API server ignores options in the query of a DELETE that has a body.
        body: Manifest = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Orphan" if orphan else "Background",
        }
        if self.dry_run:
            body["dryRun"] = ["All"]
        try:
            self._ask("DELETE", path, body=body)
        except _NotFoundError:
            return False
        return True

    def live(self, path: str) -> Manifest | None:
        """Returns an object; None if it does not exist. Raises HubError."""
        body = self._find(path)
        return None if body is None else dict(msgspec.json.decode(body, type=dict[str, Any]))

    def list(self, path: str, *, labels: str = "", name: str = "") -> list[Manifest]:
        """Returns the objects of a collection, or those of one name in all namespaces.

        Raises HubError.
        """
        selectors: dict[str, str] = {}
        if labels:
            selectors["labelSelector"] = labels
        # Every resource can be selected by its name; most have no other field for that.
        if name:
            selectors["fieldSelector"] = f"metadata.name={name}"
        with self._refusals():
            raw = self.items(path, **selectors)
            return [msgspec.json.decode(manifest, type=dict[str, Any]) for manifest in raw]

    def kind(self, group: str, version: str = "", *, kind: str) -> Served | None:
        """The path of a kind on the hub, in this version or the first that has it, if there is one.

        Raises HubError.
        """
        for candidate in (version,) if version else self._versions(group):
            base = f"/apis/{group}/{candidate}" if group else f"/api/{candidate}"
            for resource in self._resources(base):
                # Subresources, such as deployments/status, are listed beside their kind.
                if resource.kind == kind and "/" not in resource.name:
                    return Served(base=base, plural=resource.name, namespaced=resource.namespaced)
        return None

    def _versions(self, group: str) -> tuple[str, ...]:
        """The versions of a group, in the order of the API server: newer and stable ones first."""
        # /apis lists all groups but the core one.
        if not group:
            return ("v1",)
        if self._groups is None:
            groups = self.groups()
            if isinstance(groups, Unread):
                raise HubError(f"context {self.context}: GET /apis: {groups.detail}")
            self._groups = groups
        return self._groups.get(group, ())

    def _resources(self, base: str) -> tuple[_Resource, ...]:
        if base not in self._served:
            # The hub answers 404 for a version that it does not serve.
            body = self._find(base)
            listed = _Resources() if body is None else msgspec.json.decode(body, type=_Resources)
            self._served[base] = tuple(listed.resources)
        return self._served[base]

    def _find(self, path: str) -> bytes | None:
        """The object at a path; None if there is none."""
        try:
            return self._ask("GET", path)
        except _NotFoundError:
            return None

    def _patch(
        self, path: str, body: Manifest, content_type: str, *, check: bool, **params: str
    ) -> bytes:
        params = {"fieldManager": GENERATOR_MANAGER, **params}
        if check or self.dry_run:
            params |= DRY_RUN
        return self._ask("PATCH", path, params=params, body=body, content_type=content_type)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> bytes:
        """The answer of the hub. Raises HubError."""
        with self._refusals(), self._asking():
            return self._server.request(
                method, path, params=params or {}, body=body, content_type=content_type
            )

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turns what the API server refuses into a HubError by its status."""
        try:
            yield
        except ApiError as error:
            error_type = _REFUSALS.get(error.status, HubError)
            raise error_type(f"context {self.context}: {error}") from error


def object_text(kind: str, manifest: Mapping[str, Any]) -> str:
    """Formats `Application argocd/portal`. Manifests of a list do not say their kind."""
    metadata = manifest["metadata"]
    return f"{kind} {'/'.join(filter(None, (metadata.get('namespace'), metadata['name'])))}"


def report(text: str) -> None:
    """Prints a line about what happens, at once."""
    print(printable(text), flush=True)


def _declared(text: bytes, manifest: Manifest) -> object:
    """The part of an object that people declare, without fields that its controller writes.

    Empty values are left out, because Argo CD removes them from an Application when it writes it.
    """
    live: Manifest = msgspec.json.decode(text, type=dict[str, Any])
    fields = dict(live)
    # Argo CD writes `operation` into an Application when it starts a sync, beside `spec`.
    for undeclared in ("metadata", "operation", "status"):
        fields.pop(undeclared, None)
    metadata = live.get("metadata", {})
    for name in ("labels", "annotations"):
        declared = manifest["metadata"].get(name) or {}
        stored = metadata.get(name) or {}
        fields[name] = {key: stored.get(key) for key in declared}
    return _without_empty(fields)


def _without_empty(value: object) -> object:
    if isinstance(value, dict):
        fields: Manifest = {}
        for key, field in value.items():
            # The inner one first: an object of empty fields is empty itself.
            kept = _without_empty(field)
            if kept not in EMPTY:
                fields[key] = kept
        return fields
    if isinstance(value, list):
        return [_without_empty(element) for element in value]
    return value
