"""Rules across objects. Each judges one fact by the Context, and yields findings.

A rule does not compute: what it judges by lives in the modules of `resolve`.
"""

from typing import Final

from gitops_dsf.resolve.rules import (
    application_destinations,
    application_names,
    application_objects,
    application_sets,
    applications,
    bindings,
    cel_predicates,
    credentials,
    hub_load,
    hub_namespaces,
    inventory,
    locks,
    maintenance,
    metric_sources,
    names,
    no_effect,
    placements,
    projects,
    proxies,
    queries,
    rankings,
    score_scale,
    score_tests,
    scorers,
    selectors,
    settings,
    sizes,
    target_clusters,
    templates,
    urls,
)
from gitops_dsf.resolve.rules.registry import Rule, rules_of

RULES: Final[tuple[Rule, ...]] = rules_of(
    (
        application_destinations,
        application_names,
        application_objects,
        application_sets,
        applications,
        bindings,
        cel_predicates,
        credentials,
        hub_load,
        hub_namespaces,
        inventory,
        locks,
        maintenance,
        metric_sources,
        names,
        no_effect,
        placements,
        projects,
        proxies,
        queries,
        rankings,
        score_scale,
        score_tests,
        scorers,
        selectors,
        settings,
        sizes,
        target_clusters,
        templates,
        urls,
    )
)
"""Every rule, in the order in which they run. A new module of rules is added here."""
