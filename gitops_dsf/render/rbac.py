"""The ServiceAccounts of our programs, and what they may do."""

from collections.abc import Sequence
from typing import Final

from gitops_dsf.render.objects import Object, Wave, metadata

_GROUP: Final = "rbac.authorization.k8s.io"


def account(name: str, *, namespace: str) -> Object:
    """The ServiceAccount. Without other objects it may do nothing."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(name=name, namespace=namespace, wave=Wave.FOUNDATIONS),
        # Pods ask for their token themselves.
        "automountServiceAccountToken": False,
    }


def requests_of(name: str, *, namespace: str) -> str:
    """CEL for admission policies: whether the account sent the request."""
    return f'request.userInfo.username == "system:serviceaccount:{namespace}:{name}"'


def account_subject(name: str, *, namespace: str) -> Object:
    """A ServiceAccount as the subject of a binding."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def group_subject(name: str) -> Object:
    """A group as the subject of a binding."""
    return {"apiGroup": _GROUP, "kind": "Group", "name": name}


def rule(group: str, *resources: str, verbs: Sequence[str], names: Sequence[str] = ()) -> Object:
    """A rule of a role; with names, it is about these objects alone."""
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": list(resources), **named, "verbs": list(verbs)}


def role(
    name: str, rules: Sequence[Object], *, namespace: str | None = None, wave: Wave | None = None
) -> Object:
    """A Role, or without a namespace a ClusterRole."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": _kind(namespace),
        "metadata": metadata(name=name, namespace=namespace, wave=wave),
        "rules": rules,
    }


def role_binding(
    name: str,
    *subjects: Object,
    namespace: str | None = None,
    wave: Wave | None = None,
    cluster_role: str | None = None,
) -> Object:
    """The binding of the role with the same name, or of a ClusterRole in one namespace."""
    reference = (
        {"kind": _kind(namespace), "name": name}
        if cluster_role is None
        else {"kind": "ClusterRole", "name": cluster_role}
    )
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{_kind(namespace)}Binding",
        "metadata": metadata(name=name, namespace=namespace, wave=wave),
        "roleRef": {"apiGroup": _GROUP, **reference},
        "subjects": list(subjects),
    }


def _kind(namespace: str | None) -> str:
    return "ClusterRole" if namespace is None else "Role"
