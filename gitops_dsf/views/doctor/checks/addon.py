"""Checks the agents that OCM installs."""

from collections.abc import Iterator

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.views.doctor.facts import Facts, Source, condition, namespace_of, on_cluster
from gitops_dsf.views.doctor.finding import Finding, error, ok, warning
from gitops_dsf.wording import plural


def agents(facts: Facts) -> Iterator[Finding]:
    """Are the agents that OCM installs Available?"""
    states = sorted(facts.of(Source.ADDON_STATES), key=namespace_of)
    for item in states:
        cluster = namespace_of(item)
        applied = [condition(item, kind) or {} for kind in ("RegistrationApplied", "ManifestApplied")]
        failed = next((one for one in applied if one.get("status") == "False"), None)
        if failed is not None:
            fix = facts.command("-n", cluster, "describe", "managedclusteraddon", ADDON_NAME)
            why = f"{failed['type']} is False: {failed.get('reason')}: {failed.get('message')}"
            yield error(f"agent of {cluster}: {why}", fix, subject=cluster)
            continue
        available = condition(item, "Available")
        if available is None or available.get("status") != "True":
            fix = on_cluster(cluster, f"describe deployment {ADDON_NAME}")
            why = "OCM has not reported on it yet"
            if available:
                why = f"{available.get('reason')}: {available.get('message')}"
            yield warning(f"agent of {cluster} is not Available: {why}", fix, subject=cluster)
    yield ok(f"{plural(len(states), 'agent')}, all Available")
