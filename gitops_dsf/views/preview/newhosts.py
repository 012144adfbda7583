"""Hosts that a change names for the first time, in scorers and in sources of applications.

A reviewer cannot see from a diff whether a host is new to the fleet. Without a base everything is
new, and nothing is named.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.urls.git import host_of_repository
from gitops_dsf.urls.parts import host_of
from gitops_dsf.views.preview.applied import applied


class NewHost(Struct, frozen=True, kw_only=True):
    """A host that nothing in the fleet named before."""

    host: str
    user: str
    """The first that names it, such as `scorer cpu` or `application shop`."""


def new_hosts(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[NewHost]:
    """The hosts of the head that the base does not name, sorted."""
    if base is None:
        return
    named_before = _hosts(base)
    for host, user in sorted(_hosts(head).items()):
        if host not in named_before:
            yield NewHost(host=host, user=user)


def _hosts(fleet: CheckedFleet) -> Mapping[str, str]:
    """Every host that scorers and applications name, with the first that names it."""
    users: dict[str, str] = {}
    for name, scorer in fleet.scorer_by_name.items():
        urls = [scorer.spec.config_url or "", scorer.scoring_endpoint]
        # Each variant of a MetricSource may have a server of its own.
        for form in fleet.by_variant[name]:
            urls.append(form.source_endpoint)
        for host in map(host_of, urls):
            users.setdefault(host, f"scorer {name}")
    # Also those that people wrote by hand: Argo CD clones their repositories, too.
    for manifest in applied(fleet).application_sets:
        for url in _repositories(manifest["spec"]):
            host = host_of_repository(url)
            users.setdefault(host, f"application {manifest['metadata']['name']}")
    # A scorer without a source or without a scoring API has no host.
    users.pop("", None)
    return users


def _repositories(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever an object holds
    """Every repoURL in an object: of sources, and of generators that read a repository."""
    if isinstance(value, Mapping):
        for name, child in value.items():
            if name == "repoURL" and isinstance(child, str):
                yield child
            else:
                yield from _repositories(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _repositories(child)
