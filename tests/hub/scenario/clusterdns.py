"""Service names of a spoke on 127.0.0.1: the demo's forward proxy, for agents that the hub suite runs."""

from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from demo.network import ClusterLoad, network


class ClusterDns:
    """Forwards plain HTTP for the names it was given; a context manager."""

    def __init__(self, services: dict[str, str]) -> None:
        """``services`` maps ``host:port`` as the cluster writes it to the URL of a program on loopback."""
        load = ClusterLoad(cluster="the spoke", percent=0, instance_type="", cores=0)
        self._server = network(load, {name: urlsplit(url).netloc for name, url in services.items()})

    def __enter__(self) -> Self:
        self._authority = self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment; its API servers on loopback are reached directly."""
        return {"HTTP_PROXY": f"http://{self._authority}", "NO_PROXY": "127.0.0.1,localhost"}
