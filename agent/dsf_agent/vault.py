"""Where Secrets and ConfigMaps that scorers name come from."""

from typing import Any, Protocol
from urllib.parse import quote

from dsf_agent.apiserver import ApiServer
from dsf_agent.errors import PublishError
from dsf_agent.reasons import Reason


class Vault(Protocol):
    """Where Secrets and ConfigMaps come from. Raises PublishError."""

    async def secret(self, name: str) -> dict[str, Any]: ...

    async def config_map(self, name: str) -> dict[str, Any]: ...


class SpokeVault:
    """The managed cluster's API server, ``get`` on named objects of one namespace only."""

    def __init__(self, *, server: ApiServer, namespace: str) -> None:
        self._server = server
        self._base = f"/api/v1/namespaces/{quote(namespace, safe='')}"

    async def secret(self, name: str) -> dict[str, Any]:
        return (await self._server.call("GET", f"{self._base}/secrets/{quote(name, safe='')}")).object

    async def config_map(self, name: str) -> dict[str, Any]:
        return (await self._server.call("GET", f"{self._base}/configmaps/{quote(name, safe='')}")).object


class NoVault:
    """A process without access to the managed cluster's API, such as one on a laptop."""

    async def secret(self, name: str) -> dict[str, Any]:
        msg = (
            f"Secret {name!r} is needed and there is no access to the managed cluster's API; give"
            " --spoke-kubeconfig"
        )
        raise PublishError(msg, reason=Reason.TOKEN_UNAVAILABLE)

    async def config_map(self, name: str) -> dict[str, Any]:
        msg = (
            f"ConfigMap {name!r} is needed and there is no access to the managed cluster's API; give"
            " --spoke-kubeconfig"
        )
        raise PublishError(msg, reason=Reason.CA_UNAVAILABLE)
