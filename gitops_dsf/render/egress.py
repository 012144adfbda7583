"""The NetworkPolicy that limits where an agent or the hub scorer connects to.

It follows from the endpoints of its scorers.

It follows from the endpoints of its scorers.

A NetworkPolicy knows no host names. So a Service is allowed by its namespace, an address by itself,
and any other name by its port. Ports of Services do not count, because the policy sees the port of
the pod behind.
"""

import ipaddress
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from dsf_wire.summary import Summary
from gitops_dsf.render.objects import Object, filled
from gitops_dsf.repository.model.repository import Egress
from gitops_dsf.urls.defaults import RECEIVER_ORIGIN
from gitops_dsf.urls.hosts import is_in_cluster

_LOOPBACK: Final = urlsplit(RECEIVER_ORIGIN).hostname
"""Policies do not apply inside of a pod."""
_DNS: Final = (53, 5353)
"""The second one is where the DNS pods of OpenShift listen."""
_SCHEMES: Final = {"http": 80, "https": 443}


def egress_policy(
    summaries: Iterable[Summary],
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
    namespaces, ports = set[str](), set[int]()
    addresses: dict[str, set[int]] = {}
    endpoints = (
        (summary.source_endpoint, summary.scoring_endpoint, *_token_urls(summary))
        for summary in summaries
    )
    for url in chain(proxies, *endpoints):
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _SCHEMES.get(parts.scheme, 0)
        if not host or host == _LOOPBACK:
            continue
        namespaces.update(_namespaces(host, own=namespace))
        block = _block(host)
        if block:
            addresses.setdefault(block, set()).add(port)
        elif not is_in_cluster(host):
            ports.add(port)
    rules: list[Object] = [
        {
            "ports": [
                {"port": port, "protocol": protocol} for port in _DNS for protocol in ("TCP", "UDP")
            ]
        },
        {"ports": _tcp({*settings.api_server_ports, *ports})},
        *(
            {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": found}}}]}
            for found in sorted(namespaces)
        ),
        *(
            {"to": [{"ipBlock": {"cidr": block}}], "ports": _tcp(found)}
            for block, found in sorted(addresses.items())
        ),
        *settings.rules,
    ]
    [policy] = filled("egress.yaml", app=app, namespace=namespace, rules=rules)
    return policy


def _token_urls(summary: Summary) -> Iterator[str]:
    for auth in (summary.source_auth, summary.scoring_auth):
        if auth is not None and auth.oauth2 is not None:
            yield auth.oauth2.token_url


def _tcp(ports: Iterable[int]) -> list[Object]:
    return [{"port": port, "protocol": "TCP"} for port in sorted(ports)]


def _namespaces(host: str, *, own: str) -> list[str]:
    """Namespaces of the cluster in which a name may have its Service, for a pod in ``own``:

    `x`, `x.namespace`, and names with a label `svc` after the namespace, whatever the domain of the
    cluster is.
    """
    labels = host.rstrip(".").lower().split(".")
    if _block(host):
        return []
    if len(labels) == 1:
        return [own]
    if "svc" in labels[2:]:
        return [labels[labels.index("svc", 2) - 1]]
    return [labels[1]] if len(labels) == 2 else []


def _block(host: str) -> str:
    """An address as a block of its own; empty for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    return f"{address}/{address.max_prefixlen}"
