"""The NetworkPolicy that limits where an agent or the hub scorer connects to.

It follows from the endpoints of its scorers. A NetworkPolicy knows no host names. So a Service is
allowed by its namespace, an address by itself, and any other name by its port. Ports of Services do
not count, because the policy sees the port of the pod behind.
"""

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from dsf_wire.summary import ScorerSummary
from gitops_dsf.render.objects import Object, filled
from gitops_dsf.repository.model.agent import Egress
from gitops_dsf.urls.defaults import RECEIVER_ORIGIN
from gitops_dsf.urls.hosts import is_in_cluster

# Policies do not apply inside a pod, where the receiver for OpenTelemetry metrics is.
_LOOPBACK: Final = urlsplit(RECEIVER_ORIGIN).hostname

# The DNS pods of OpenShift listen on the second one.
_DNS_PORTS: Final = (53, 5353)

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def egress_policy(
    summaries: Iterable[ScorerSummary],
    settings: Egress,
    *,
    proxies: Iterable[str] = (),
    namespace: str = AGENT_NAMESPACE,
    app: str = ADDON_NAME,
) -> Object:
    """Allows what these scorers need, and what the settings add.

    That is DNS, API servers, the proxies, the sources, scoring APIs and token servers. By default
    it is the policy of an agent; ``app`` is the label of the pods.
    """
    namespaces: set[str] = set()
    ports: set[int] = set()
    ports_of_block: dict[str, set[int]] = {}
    for url in (*proxies, *_urls(summaries)):
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
        if not host or host == _LOOPBACK:
            continue
        namespaces.update(_namespaces(host, own=namespace))
        block = _block(host)
        if block:
            ports_of_block.setdefault(block, set()).add(port)
        elif not is_in_cluster(host):
            ports.add(port)
    rules: list[Object] = [
        {"ports": _dns()},
        {"ports": _tcp({*settings.api_server_ports, *ports})},
    ]
    for name in sorted(namespaces):
        selector = {"matchLabels": {"kubernetes.io/metadata.name": name}}
        rules.append({"to": [{"namespaceSelector": selector}]})
    for block, block_ports in sorted(ports_of_block.items()):
        rules.append({"to": [{"ipBlock": {"cidr": block}}], "ports": _tcp(block_ports)})
    rules += settings.rules
    [policy] = filled("egress.yaml", app=app, namespace=namespace, rules=rules)
    return policy


def _urls(summaries: Iterable[ScorerSummary]) -> Iterator[str]:
    """The URLs to which these scorers send requests."""
    for summary in summaries:
        yield summary.source_endpoint
        yield summary.scoring_endpoint
        yield from _token_urls(summary)


def _token_urls(summary: ScorerSummary) -> Iterator[str]:
    for auth in (summary.source_auth, summary.scoring_auth):
        if auth is not None and auth.oauth2 is not None:
            yield auth.oauth2.token_url


def _dns() -> list[Object]:
    ports: list[Object] = []
    for port in _DNS_PORTS:
        ports += [{"port": port, "protocol": "TCP"}, {"port": port, "protocol": "UDP"}]
    return ports


def _tcp(ports: Iterable[int]) -> list[Object]:
    return [{"port": port, "protocol": "TCP"} for port in sorted(ports)]


def _namespaces(host: str, *, own: str) -> list[str]:
    """Namespaces of the cluster in which a name may have its Service, for a pod in `own`.

    Names of Services are `x`, `x.namespace`, and names with a label `svc` after the namespace,
    whatever the domain of the cluster is.
    """
    if _block(host):
        return []
    labels = host.rstrip(".").lower().split(".")
    if len(labels) == 1:
        return [own]
    if "svc" in labels[2:]:
        return [labels[labels.index("svc", 2) - 1]]
    if len(labels) == 2:
        return [labels[1]]
    return []


def _block(host: str) -> str:
    """An address as a block of its own; empty for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    return f"{address}/{address.max_prefixlen}"
