"""Credentials of an agent, from the kubeconfig that OCM writes: a token or a client certificate, in the file
or in files that it names. Kubeconfigs of people hold more, and gitops_dsf.hubreader.kubeconfig reads them.
Messages never contain values of a kubeconfig, because one of them may be a token.
"""

import base64
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from dsf_runtime.access import Access, AccessError, authorization_header, make_access, tls_context

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the one writable place of a container with a read-only root and no /tmp volume
READABLE: Final = frozenset(
    {
        "token",
        "tokenFile",
        "client-certificate",
        "client-certificate-data",
        "client-key",
        "client-key-data",
        "extensions",
    }
)
"""Fields of a user (client-go's api/v1 types) that are read here."""


@dataclass(frozen=True, kw_only=True)
class Kubeconfig:
    """A kubeconfig file; its current context counts."""

    path: Path

    def load(self) -> Access:
        """Reads the credentials as they are now. Blocking. Raises AccessError."""
        seen = dict[Path, bytes | None]()
        try:
            seen[self.path] = text = self.path.read_bytes()
            return _access(yaml.safe_load(text), folder=self.path.parent, seen=seen)
        except yaml.YAMLError as error:
            msg = f"kubeconfig {self.path} is not YAML"
            raise AccessError(msg) from error
        except (OSError, ValueError) as error:
            msg = f"kubeconfig {self.path}: {error}"
            raise AccessError(msg) from error
        except (TypeError, KeyError, AttributeError, StopIteration, RecursionError) as error:
            msg = (
                f"kubeconfig {self.path}: the file does not have the structure of a kubeconfig; compare it"
                " with the output of kubectl config view"
            )
            raise AccessError(msg) from error


def _access(config: Any, *, folder: Path, seen: dict[Path, bytes | None]) -> Access:  # noqa: ANN401 - whatever YAML holds
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = (_named(config["users"], context["user"])["user"] or {}) if context.get("user") else {}
    if foreign := sorted(user.keys() - READABLE):
        msg = f"its user has {foreign[0]}; an agent reads tokens and client certificates"
        raise ValueError(msg)

    def file(name: str) -> bytes:
        path = Path(os.path.normpath(folder / name))
        seen[path] = content = path.read_bytes()
        return content

    def content(part: Mapping[str, Any], name: str) -> bytes | None:
        """Inline data or a file. Data has precedence, as in client-go."""
        if data := part.get(f"{name}-data"):
            return base64.b64decode(data)
        return file(part[name]) if part.get(name) else None

    token = user.get("token") or (file(user["tokenFile"]).decode() if user.get("tokenFile") else None)
    ca, verify = content(cluster, "certificate-authority"), not cluster.get("insecure-skip-tls-verify")
    certificate, key = content(user, "client-certificate"), content(user, "client-key")
    if certificate is None:
        trust = tls_context(ca_data=ca, verify=verify)
    else:
        # Python can load a client certificate only from a file.
        with tempfile.NamedTemporaryFile(dir=scratch()) as pair:
            pair.write(certificate + b"\n" + (key or b""))
            pair.flush()
            trust = tls_context(ca_data=ca, verify=verify, certificate=pair.name)
    return make_access(
        host=str(cluster["server"]),
        trust=trust,
        authorization=authorization_header(f"Bearer {token}" if token else None),
        server_name=cluster.get("tls-server-name"),
        proxy=cluster.get("proxy-url"),
        seen=seen,
    )


def _named(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(item for item in items if item["name"] == name)


def scratch() -> str | None:
    """The folder for temporary files with certificates."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return SHARED_MEMORY
