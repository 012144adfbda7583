"""Per cluster: the ManifestWork with the scoring configuration, the ManagedClusterAddOn that installs the
agent, and its rights.

A configuration is rendered once; the files of its clusters differ in one small head and share the rest.
"""

from collections.abc import Iterator

import msgspec

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, CONFIGMAP_KEY, CONFIGMAP_NAME
from dsf_wire.summary import Summary, encode_one
from gitops_dsf.plan.types import ClusterWork, Configuration
from gitops_dsf.render.agent import HUB_ROLE
from gitops_dsf.render.emit import emit, printable_json, scalar
from gitops_dsf.render.objects import Object, metadata

WORK_NAME = "gitops-dsf-config"
READER_ROLE = "gitops-dsf-agent-credentials"

CLUSTER_KINDS = ("managedclusteraddon", "rolebinding")
"""What a cluster has beside its ManifestWork."""

_PLACEHOLDER = "@summaries@"
_NAMESPACE = "@cluster@"


class WorkRenderer:
    """Renders the works of one plan; keeps each scorer's and each configuration's bytes for the
    next cluster.
    """

    def __init__(self) -> None:
        self._scorers: dict[str, bytes] = {}
        self._bodies: dict[int, tuple[bytes, ...]] = {}
        self._body_sizes: dict[int, int] = {}
        head, tail = _split(emit(_shell(_NAMESPACE)), f'"{_NAMESPACE}"')
        self._head, self._head_end = head, tail
        self._indent = b" " * 10

    def parts(self, work: ClusterWork) -> tuple[bytes, ...]:
        """The file of one cluster's ManifestWork, in pieces to be written one after another."""
        return (*self._top(work), *self._shared(work.configuration))

    def size(self, work: ClusterWork) -> int:
        """Bytes of the pieces of one cluster's ManifestWork."""
        key = id(work.configuration)
        size = self._body_sizes.get(key)
        if size is None:
            size = self._body_sizes[key] = sum(map(len, self._shared(work.configuration)))
        return sum(map(len, self._top(work))) + size

    def _top(self, work: ClusterWork) -> tuple[bytes, ...]:
        return (self._head, scalar(work.cluster).encode(), self._head_end)

    def _shared(self, configuration: Configuration) -> tuple[bytes, ...]:
        body = self._bodies.get(id(configuration))
        if body is None:
            body = self._bodies[id(configuration)] = tuple(self._body(configuration))
        return body

    def _body(self, configuration: Configuration) -> Iterator[bytes]:
        text = emit(_spec(configuration))
        before, after = _split(text, f'"{_PLACEHOLDER}"')
        yield before
        if not configuration.summaries:
            yield b'"[]"'
        else:
            yield b"|-\n" + self._indent + b"[\n"
            for index, summary in enumerate(configuration.summaries):
                if index:
                    yield b",\n"
                yield self._scorer(summary)
            yield b"\n" + self._indent + b"]"
        yield after

    def _scorer(self, summary: Summary) -> bytes:
        text = self._scorers.get(summary.name)
        if text is None:
            pad = self._indent + b"  "
            lines = printable_json(encode_one(summary)).encode().split(b"\n")
            text = self._scorers[summary.name] = b"\n".join(pad + line for line in lines)
        return text


def payload_bytes(configuration: Configuration) -> int:
    """Size of a work as OCM's webhook adds it up (docs/contributing/ocm-behaviour.md#manifestwork-size).

    Rounded up: the webhook adds at most four bytes for each manifest.
    """
    manifests = _manifests(
        configuration, "[\n" + ",\n".join(encode_one(item) for item in configuration.summaries) + "\n]"
    )
    return sum(len(msgspec.json.encode(item)) + 4 for item in manifests)


class ClusterObjects:
    """The small objects that differ in nothing but the cluster's name: rendered once, with the name filled in
    for each cluster.
    """

    def __init__(self) -> None:
        self._texts = {
            kind: emit(item)
            for kind, item in zip(CLUSTER_KINDS, (_addon(_NAMESPACE), _rights(_NAMESPACE)), strict=True)
        }

    def files(self, cluster: str) -> Iterator[tuple[str, bytes]]:
        """(kind, text) of one cluster."""
        for kind, text in self._texts.items():
            yield kind, text.replace(f'"{_NAMESPACE}"', scalar(cluster)).replace(_NAMESPACE, cluster).encode()


def _addon(cluster: str) -> Object:
    """One per cluster and never by installStrategy Placements, which delete while pages of decisions are
    rewritten.
    """
    return {
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": metadata(name=ADDON_NAME, namespace=cluster),
        "spec": {"installNamespace": AGENT_NAMESPACE},
    }


def _rights(cluster: str) -> Object:
    """What the cluster's agent may do in its own namespace on the hub.

    Not by the template's hubPermissions: there OCM binds the role to the group that the agents of all
    clusters share, so that each could write the scores of every other (ocm
    pkg/addon/templateagent/registration.go, buildSubjectsFromRegistration). The subjects are the agent as it
    registers by certificate, and as it registers by token.
    """
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name=ADDON_NAME, namespace=cluster),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": HUB_ROLE},
        "subjects": [
            {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Group",
                "name": f"system:open-cluster-management:cluster:{cluster}:addon:{ADDON_NAME}",
            },
            {"kind": "ServiceAccount", "name": f"{ADDON_NAME}-agent", "namespace": cluster},
        ],
    }


def _split(text: str, mark: str) -> tuple[bytes, bytes]:
    before, _, after = text.partition(mark)
    return before.encode(), after.encode()


def _shell(namespace: str) -> Object:
    return {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": metadata(name=WORK_NAME, namespace=namespace),
    }


def _spec(configuration: Configuration) -> Object:
    return {
        "spec": {
            "deleteOption": {
                "propagationPolicy": "SelectivelyOrphan",
                # People's token Secrets live in the namespace; it outlives every work of ours.
                "selectivelyOrphans": {
                    "orphaningRules": [
                        {"group": "", "resource": "namespaces", "name": AGENT_NAMESPACE, "namespace": ""}
                    ],
                },
            },
            "workload": {"manifests": _manifests(configuration, _PLACEHOLDER)},
        }
    }


def _manifests(configuration: Configuration, summaries: str) -> list[Object]:
    rules: list[Object] = []
    for resource, names in (("secrets", configuration.secrets), ("configmaps", configuration.config_maps)):
        if names:
            rules.append(
                {"apiGroups": [""], "resources": [resource], "resourceNames": list(names), "verbs": ["get"]}
            )
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(name=CONFIGMAP_NAME, namespace=AGENT_NAMESPACE),
            "data": {CONFIGMAP_KEY: summaries},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata(name=READER_ROLE, namespace=AGENT_NAMESPACE),
            "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata(name=READER_ROLE, namespace=AGENT_NAMESPACE),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": READER_ROLE},
            "subjects": [{"kind": "ServiceAccount", "name": ADDON_NAME, "namespace": AGENT_NAMESPACE}],
        },
    ]
