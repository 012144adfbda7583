"""Checks a page that names another host than the accepted lock. The scorer or allowedHosts must allow it.
Pure.
"""

from collections.abc import Iterator, Sequence

from dsf_wire.text import printable
from gitops_dsf.hub.drift import Config
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.urls import host_of
from gitops_dsf.repository.model.scorer import DynamicScorer


def moved_hosts(
    *, scorer: DynamicScorer, before: Config, after: Config, allowed: Sequence[str]
) -> Iterator[str]:
    """Yields one reason per host that changed and is not allowed (docs/sync.md#what-is-accepted)."""
    for section, written in (("scoring", scorer.spec.scoring.host), ("source", scorer.spec.source.host)):
        old, new = _host(before, section), _host(after, section)
        if section == "source" and scorer.spec.source.ref is not None:
            continue  # the MetricSource names the host, and the page's has no effect
        if (
            not old
            or not new
            or old == new
            or new == (host_of(written) or written)
            or any(matches(new, pattern) for pattern in allowed)
        ):
            continue
        there, here = printable(old, most=120), printable(new, most=120)
        yield (
            f"{section}.host moves from {there} to {here}; write {section}.host into the scorer, or"
            f" add {here} to spec.allowedHosts in gitops-dsf.yaml, if that is meant"
        )


def _host(config: Config, section: str) -> str:
    url = str(config.get(section, {}).get("host", ""))
    return host_of(url) or url
