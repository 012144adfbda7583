"""Kubeconfig files.

One cluster, one user, one context, credentials as files beside it or as a token.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import yaml


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A user and its groups, as a client certificate states them."""

    user: str
    groups: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """A file name for this identity.

        Identities of one user in different groups have different files.
        """
        groups = sha256(repr(self.groups).encode()).hexdigest()[:8]
        return f"{self.user}-{groups}".replace(":", "-").replace("/", "-")


ADMIN = Identity(user="gitops-dsf-tests", groups=("system:masters",))


def write_kubeconfig(
    path: Path, *, server: str, authority: Path, user: Mapping[str, str], namespace: str = ""
) -> Path:
    """Write `path`, readable by its owner only, and return it."""
    cluster = {"server": server, "certificate-authority": str(authority)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(kubeconfig_of(cluster, user, namespace=namespace), encoding="utf-8")
    return path


def kubeconfig_of(cluster: Mapping[str, str], user: Mapping[str, str], *, namespace: str) -> str:
    """The text of one with these settings."""
    context = {
        "cluster": "cluster",
        "user": "user",
        **({"namespace": namespace} if namespace else {}),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": dict(cluster)}],
        "users": [{"name": "user", "user": dict(user)}],
        "contexts": [{"name": "context", "context": context}],
        "current-context": "context",
    }
    return yaml.safe_dump(config, sort_keys=False)
