"""Checks the proxy of the agents: that it does not stand between them and the Services of their cluster."""

from collections.abc import Iterator

from dsf_wire.proxies import Proxies
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.urls import host_of, is_in_cluster
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import SETTINGS, rule
from gitops_dsf.resolve.scorer import EffectiveScorer


@rule(needs=(SETTINGS,))
def services_are_called_directly(context: Context) -> Iterator[Diagnostic]:
    """A proxy outside of the cluster knows no Service of it."""
    repository = context.repository
    proxy = repository.value.spec.agent.proxy
    if proxy is None or context.is_upstream:
        return
    proxies = Proxies.of(proxy.environment)
    hosts = {
        host_of(url): scorer.name
        for scorer in context.each_variant
        if not scorer.spec.on_hub
        for url in _urls(scorer)
        if is_in_cluster(host_of(url)) and proxies.proxy_for(url) is not None
    }
    if hosts:
        host, scorer_name = min(hosts.items())
        others = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
        position = repository.at("spec", "agent", "proxy")
        message = f"agents would call {host} of scorer {scorer_name}{others} through the proxy"
        hint = "add .svc and .cluster.local to noProxy, or these names"
        yield codes.SERVICE_BEHIND_PROXY.at(position, message, hint)


def _urls(scorer: EffectiveScorer) -> Iterator[str]:
    """Where requests of a scorer go. Pushed metrics are in the pod."""
    urls = (None if scorer.is_pushed else scorer.source_endpoint, scorer.scoring_endpoint)
    yield from (url for url in urls if url and host_of(url))
