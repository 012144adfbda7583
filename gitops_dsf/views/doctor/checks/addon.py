"""Checks the agents that OCM installs."""

from collections.abc import Iterator, Mapping
from typing import Any

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.views.doctor.facts import Facts, Object, Source, condition, namespace_of
from gitops_dsf.views.doctor.finding import Finding, error, ok, warning
from gitops_dsf.wording import plural


def agents(facts: Facts) -> Iterator[Finding]:
    """Are the agents that OCM installs Available?"""
    states = sorted(facts.of(Source.ADDON_STATES), key=namespace_of)
    for item in states:
        cluster = namespace_of(item)
        failed = next(
            (
                (kind, one)
                for kind in ("RegistrationApplied", "ManifestApplied")
                if (one := _failed(item, kind))
            ),
            None,
        )
        if failed is not None:
            kind, found = failed
            fix = facts.command("-n", cluster, "describe", "managedclusteraddon", ADDON_NAME)
            yield error(
                f"agent of {cluster}: {kind} is False: {found.get('reason')}: {found.get('message')}",
                fix,
                subject=cluster,
            )
            continue
        available = condition(item, "Available")
        if available is None or available.get("status") != "True":
            fix = (
                f"kubectl --context {cluster} -n {AGENT_NAMESPACE} describe deployment {ADDON_NAME}  # on the"
                " cluster itself"
            )
            why = (
                f"{available.get('reason')}: {available.get('message')}"
                if available
                else "OCM has not reported on it yet"
            )
            yield warning(f"agent of {cluster} is not Available: {why}", fix, subject=cluster)
    yield ok(f"{plural(len(states), 'agent')}, all Available")


def _failed(item: Object, kind: str) -> Mapping[str, Any] | None:
    found = condition(item, kind)
    return found if found is not None and found.get("status") == "False" else None
