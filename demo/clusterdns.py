"""Service names of one cluster: a forward proxy in place of cluster DNS.

Every cluster has the same URL in its configuration, such as http://prometheus-operated.monitoring.svc:9090,
and reaches its own Prometheus by it. A pod has its cluster's DNS for that; a process on a laptop has
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
    """``services`` maps `host:port` as the cluster writes it to `host:port` on this machine; other names are
    refused with 502.
    """

    class Proxy(Handler):
        def serve(self) -> None:
            wanted = urlsplit(self.path)
            body = self.body()
            target = services.get(wanted.netloc)
            if target is None:
                self.answer(502, f"{cluster} has no service {wanted.netloc}".encode(), "text/plain")
                return
            connection = HTTPConnection(target, timeout=TIMEOUT_SECONDS)
            try:
                headers = {
                    name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP
                }
                path = f"{wanted.path or '/'}{'?' if wanted.query else ''}{wanted.query}"
                connection.request(self.command, path, body=body or None, headers=headers)
                found = connection.getresponse()
                self.answer(
                    found.status, found.read(), found.headers.get("Content-Type", "application/octet-stream")
                )
            except (OSError, HTTPException) as error:
                self.answer(502, f"{wanted.netloc} of {cluster}: {error}".encode(), "text/plain")
            finally:
                connection.close()

    return Loopback(Proxy, name=f"dns-{cluster}")
