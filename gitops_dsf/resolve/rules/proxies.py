"""Checks that agents do not call Services of their own cluster through the proxy."""

from collections.abc import Iterator

from dsf_wire.proxies import Proxies
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import SETTINGS, rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.urls.hosts import is_in_cluster
from gitops_dsf.urls.parts import host_of


@rule(needs=(SETTINGS,))
def services_are_called_directly(context: Context) -> Iterator[Diagnostic]:
    """A proxy outside the cluster knows no Service of it."""
    proxy = context.repository.value.spec.agent.proxy
    if proxy is None or context.is_upstream:
        return
    proxies = Proxies.of(proxy.environment)
    scorer_by_host: dict[str, str] = {}
    for scorer in context.each_variant:
        # The settings have a proxy for agents alone.
        if scorer.spec.on_hub:
            continue
        for url in _urls(scorer):
            if is_in_cluster(host_of(url)) and proxies.proxy_for(url) is not None:
                scorer_by_host[host_of(url)] = scorer.name
    if scorer_by_host:
        # One entry of noProxy mends all of them, so there is one finding.
        host, scorer_name = min(scorer_by_host.items())
        count = len(scorer_by_host) - 1
        others = f" and {count} more" if count else ""
        yield codes.SERVICE_BEHIND_PROXY.at(
            context.repository.at("spec", "agent", "proxy"),
            f"agents would call {host} of scorer {scorer_name}{others} through the proxy",
            "add .svc and .cluster.local to noProxy, or these names",
        )
    writing = context.repository.value.spec.agent.remote_write
    host = host_of(writing.url) if writing is not None else ""
    if writing is not None and is_in_cluster(host) and proxies.proxy_for(writing.url) is not None:
        yield codes.SERVICE_BEHIND_PROXY.at(
            context.repository.at("spec", "agent", "proxy"),
            f"raw scores would go to {host} of remoteWrite through the proxy",
            "add .svc and .cluster.local to noProxy, or this name",
        )


def _urls(scorer: EffectiveScorer) -> Iterator[str]:
    """The URLs of a scorer's requests. Pushed metrics are in the pod."""
    if not scorer.is_pushed and host_of(scorer.source_endpoint):
        yield scorer.source_endpoint
    if host_of(scorer.scoring_endpoint):
        yield scorer.scoring_endpoint
