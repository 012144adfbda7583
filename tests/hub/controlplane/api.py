"""A small client of the Kubernetes API for tests.

It says what it asked and what the server answered, and hides nothing.

Kinds are named `<apiVersion>/<Kind>`, such as `v1/ConfigMap` or
`cluster.open-cluster-management.io/v1beta1/Placement`; their paths come from the server's
discovery. Writes validate strictly: an unknown or duplicate field is an error.
"""

import json
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

Object = dict[str, Any]

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
MANAGER = "gitops-dsf-tests"
BUSY_RETRIES = 10
RBAC = "rbac.authorization.k8s.io/v1"
ROLE_BINDING, CLUSTER_ROLE_BINDING = f"{RBAC}/RoleBinding", f"{RBAC}/ClusterRoleBinding"


class ApiError(Exception):
    """The server refused.

    `code` is the HTTP status, `reason` Kubernetes' word for it, such as Forbidden.
    """

    def __init__(self, *, code: int, reason: str, message: str, request: str) -> None:
        super().__init__(f"{request}: {code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message


def manifest(
    kind: str, name: str, *, namespace: str = "", meta: Object | None = None, **fields: Any
) -> Object:
    """An object of a kind, with more of its metadata and with its other fields."""
    version, _, short = kind.rpartition("/")
    placed = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": version,
        "kind": short,
        "metadata": {"name": name, **placed, **(meta or {})},
        **fields,
    }


def bound(
    name: str,
    role: str,
    *,
    namespace: str = "",
    user: str = "",
    group: str = "",
    account: tuple[str, str] = ("", ""),
) -> Object:
    """The binding of a cluster role, in a namespace or everywhere.

    An account is its namespace and name.
    """
    group_of_rbac = {"apiGroup": RBAC.partition("/")[0]}
    subject: Object = {"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}
    if user or group:
        subject = {**group_of_rbac, "kind": "User" if user else "Group", "name": user or group}
    reference = {**group_of_rbac, "kind": "ClusterRole", "name": role}
    kind = ROLE_BINDING if namespace else CLUSTER_ROLE_BINDING
    return manifest(kind, name, namespace=namespace, roleRef=reference, subjects=[subject])


def condition(item: Object | None, kind: str) -> dict[str, str]:
    """A condition in an object's status; empty where there is none."""
    conditions: list[dict[str, str]] = ((item or {}).get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == kind), {})


def is_true(item: Object | None, kind: str) -> bool:
    """Whether a condition of the object is True."""
    return condition(item, kind).get("status") == "True"


@dataclass(frozen=True, kw_only=True)
class _Resource:
    plural: str
    namespaced: bool


class Client:
    """One identity at one API server, taken from a kubeconfig file."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cafile=cluster.get("certificate-authority"))
        headers = {}
        if "token" in user:
            headers["Authorization"] = f"Bearer {user['token']}"
        else:
            context.load_cert_chain(user["client-certificate"], user["client-key"])
        self._http = httpx.Client(
            base_url=cluster["server"],
            verify=context,
            headers=headers,
            timeout=60.0,
            trust_env=False,
            transport=httpx.HTTPTransport(verify=context, retries=1),
        )
        self._resources: dict[str, dict[str, _Resource]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def get(self, kind: str, name: str, *, namespace: str | None = None) -> Object:
        return self.request("GET", self.path(kind, name, namespace=namespace))

    def find(self, kind: str, name: str, *, namespace: str | None = None) -> Object | None:
        """The object, or None when it does not exist; other refusals are errors."""
        try:
            return self.get(kind, name, namespace=namespace)
        except ApiError as error:
            if error.code == httpx.codes.NOT_FOUND:
                return None
            raise

    def list(
        self, kind: str, *, namespace: str | None = None, labels: str | None = None
    ) -> list[Object]:
        """All objects of a kind, in one namespace or in all, optionally by label selector."""
        path = self.path(kind, namespace=namespace)
        answer = self.request("GET", path, parameters={"labelSelector": labels} if labels else {})
        items: list[Object] = answer["items"]
        return items

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        return self._write(
            "POST", self.path(_kind(item), namespace=_namespace(item)), item, dry_run=dry_run
        )

    def apply(
        self,
        item: Object,
        *,
        manager: str = MANAGER,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply of one whole object; with `subresource="status"` of its status."""
        path = self.path(
            _kind(item),
            item["metadata"]["name"],
            namespace=_namespace(item),
            subresource=subresource,
        )
        return self._write("PATCH", path, item, APPLY, manager=manager, dry_run=dry_run)

    def apply_status(self, item: Object, *, manager: str = MANAGER) -> Object:
        return self.apply(item, manager=manager, subresource="status")

    def patch(
        self,
        kind: str,
        name: str,
        change: Object,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """JSON merge patch: null removes, lists are replaced."""
        path = self.path(kind, name, namespace=namespace, subresource=subresource)
        return self._write("PATCH", path, change, MERGE, dry_run=dry_run)

    def patch_status(
        self, kind: str, name: str, status: Object, *, namespace: str | None = None
    ) -> Object:
        return self.patch(kind, name, {"status": status}, namespace=namespace, subresource="status")

    def _write(
        self,
        method: str,
        path: str,
        body: Object,
        media: str = "application/json",
        *,
        manager: str = MANAGER,
        dry_run: bool,
    ) -> Object:
        """Unknown and duplicate fields are errors. After a dry run nothing is stored."""
        parameters = {"fieldManager": manager, "fieldValidation": "Strict"}
        parameters |= {"force": "true"} if media == APPLY else {}
        parameters |= {"dryRun": "All"} if dry_run else {}
        return self.request(method, path, body=body, content_type=media, parameters=parameters)

    def delete(self, kind: str, name: str, *, namespace: str | None = None, **options: Any) -> None:
        """In the background; one that is gone already is not an error.

        `options` are those of Kubernetes.
        """
        try:
            body = {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": "Background",
                **options,
            }
            self.request("DELETE", self.path(kind, name, namespace=namespace), body=body)
        except ApiError as error:
            if error.code != httpx.codes.NOT_FOUND:
                raise

    def token(self, namespace: str, service_account: str) -> str:
        """A ServiceAccount token by TokenRequest, as the kubelet gets it for a pod."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 24 * 3600},
        }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        return str(self.request("POST", path, body=body)["status"]["token"])

    def path(
        self,
        kind: str,
        name: str | None = None,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """The URL path of a kind, an object or its subresource."""
        version, _, short = kind.rpartition("/")
        resource = self._resource(version, short)
        parts = ["/api/v1" if version == "v1" else f"/apis/{version}"]
        if namespace is not None and resource.namespaced:
            parts.append(f"namespaces/{namespace}")
        parts.append(resource.plural)
        parts.extend(part for part in (name, subresource) if part is not None)
        return "/".join(parts)

    def serves(self, kind: str) -> bool:
        """Whether the server lists a kind and answers for it now, whatever it listed before.

        ApiError where it does not.
        """
        self._resources.pop(kind.rpartition("/")[0], None)
        self.request("GET", self.path(kind), parameters={"limit": "1"})
        return True

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        parameters: Mapping[str, str] | None = None,
    ) -> Object:
        """The decoded answer of any request; ApiError when the server refuses it."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Accept": accept} | ({} if body is None else {"Content-Type": content_type})
        query = dict(parameters or {})
        answer = self._http.request(method, path, content=content, headers=headers, params=query)
        for _ in range(BUSY_RETRIES):
            # After a start, while watch caches fill. client-go waits and tries again, too.
            if (
                answer.status_code != HTTPStatus.TOO_MANY_REQUESTS
                or "Retry-After" not in answer.headers
            ):
                break
            time.sleep(float(answer.headers["Retry-After"]))
            answer = self._http.request(
                method, path, content=content, headers=headers, params=query
            )
        if answer.is_success:
            decoded: Object = answer.json()
            return decoded
        try:
            status = answer.json()
        except ValueError:
            status = {}
        raise ApiError(
            code=answer.status_code,
            reason=status.get("reason", ""),
            message=status.get("message", answer.text[:500]),
            request=f"{method} {path}",
        )

    def granted(self, namespace: str) -> set[tuple[str, str, str]]:
        """(group/resource, verb, object name or "") of every right in a namespace, as the server's
        authorizer says.
        """
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        }
        answer = self.request(
            "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body=review
        )
        return {
            (f"{group}/{resource}", verb, name)
            for rule in answer["status"]["resourceRules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
            for name in rule.get("resourceNames") or [""]
        }

    def changes(self, path: str, *, since: str) -> Sequence[Object]:
        """Every version of the objects at a path after a resourceVersion, as a watch tells them;
        deleted objects as they were.
        """
        query = {"watch": "1", "resourceVersion": since, "timeoutSeconds": "1"}
        answer = self._http.get(path, params=query).raise_for_status()
        events = [json.loads(line) for line in answer.text.splitlines()]
        assert all(event["type"] != "ERROR" for event in events), events[-1]
        return [event["object"] for event in events]

    def follow(self, path: str, *, since: str, seconds: int) -> Iterator[tuple[str, Object]]:
        """The same with the types of the events, each as it comes, for so many seconds.

        With bookmarks, which are versions of the collection and not of an object.
        """
        query = {
            "watch": "1",
            "resourceVersion": since,
            "timeoutSeconds": str(seconds),
            "allowWatchBookmarks": "true",
        }
        with self._http.stream("GET", path, params=query) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                event = json.loads(line)
                assert event["type"] != "ERROR", event
                yield event["type"], event["object"]

    def _resource(self, version: str, kind: str) -> _Resource:
        known = self._resources.get(version, {})
        if kind not in known:
            found = self.request("GET", "/api/v1" if version == "v1" else f"/apis/{version}")
            known = {
                entry["kind"]: _Resource(plural=entry["name"], namespaced=entry["namespaced"])
                for entry in found["resources"]
                if "/" not in entry["name"]
            }
            self._resources[version] = known
        try:
            return known[kind]
        except KeyError:
            raise ApiError(
                code=404,
                reason="NotFound",
                message=f"no kind {kind} in {version}",
                request="discovery",
            ) from None


def _kind(item: Object) -> str:
    return f"{item['apiVersion']}/{item['kind']}"


def _namespace(item: Object) -> str | None:
    namespace = item["metadata"].get("namespace")
    return None if namespace is None else str(namespace)
