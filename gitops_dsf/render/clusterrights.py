"""The rights of an agent whose scorers count nodes and pods: it may read them in the whole cluster."""

from collections.abc import Iterable

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from dsf_wire.measures import METRICS_API, SOURCE_TYPE, select
from dsf_wire.summary import Summary
from gitops_dsf.render.objects import Object
from gitops_dsf.render.rbac import account_subject, role, role_binding, rule

NAME = "gitops-dsf-agent-measures"


def cluster_rights(summaries: Iterable[Summary]) -> list[Object]:
    """A ClusterRole and its binding; nothing if no scorer has source type Kubernetes. Usage needs another
    right, which only scorers that use it bring.
    """
    queries = [summary.source_query for summary in summaries if summary.source_type == SOURCE_TYPE]
    if not queries:
        return []
    rules = [rule("", "nodes", "pods", verbs=("get", "list", "watch"))]
    if any(selection.measure.needs_usage for query in queries for selection in select(query)):
        rules.append(rule(METRICS_API, "nodes", verbs=("get", "list")))
    return [
        role(NAME, rules),
        role_binding(NAME, account_subject(ADDON_NAME, namespace=AGENT_NAMESPACE)),
    ]
