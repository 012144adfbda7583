"""The ServiceAccounts of our programs on the hub."""

from gitops_dsf.render.objects import Object, Wave, metadata


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
