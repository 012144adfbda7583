"""Replaces the DNS of one cluster by a forward proxy.

Every cluster has the same URL in its configuration, such as http://prometheus-operated.monitoring.svc:9090,
and reaches its own Prometheus with it. A pod has its cluster's DNS for that; a process on a laptop has
HTTP_PROXY.
"""

from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from demo.loopback import Handler, Loopback

HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade", "host"}
)
TIMEOUT_SECONDS = 30


def cluster_dns(cluster: str, services: Mapping[str, str]) -> Loopback:
    """``services`` maps `host:port` in the cluster to `host:port` on this machine. Other names are answered
    with 502.
    """

    class Proxy(Handler):
        def serve(self) -> None:
            url = urlsplit(self.path)
            body = self.body()
            target = services.get(url.netloc)
            if target is None:
                self.answer(502, f"{cluster} has no service {url.netloc}".encode(), "text/plain")
                return
            connection = HTTPConnection(target, timeout=TIMEOUT_SECONDS)
            try:
                headers = {
                    name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP
                }
                path = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
                connection.request(self.command, path, body=body or None, headers=headers)
                found = connection.getresponse()
                self.answer(
                    found.status, found.read(), found.headers.get("Content-Type", "application/octet-stream")
                )
            except (OSError, HTTPException) as error:
                self.answer(502, f"{url.netloc} of {cluster}: {error}".encode(), "text/plain")
            finally:
                connection.close()

    return Loopback(Proxy, name=f"dns-{cluster}")
