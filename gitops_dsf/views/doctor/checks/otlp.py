"""Checks what OpenTelemetry collectors push to the receivers beside the agents."""

from collections import Counter
from collections.abc import Iterator

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.hub.urls import RECEIVER_PORT
from gitops_dsf.views.doctor.facts import Facts
from gitops_dsf.views.doctor.finding import Result, ok, unknown, warning
from gitops_dsf.views.doctor.receivers import alternates
from gitops_dsf.wording import plural

_LOCAL_PORT = 19090


def receivers(facts: Facts) -> Iterator[Result]:
    """Does one collector push each series that scorers read from OpenTelemetry?"""
    readers = [item.name for item in facts.inputs.scorers if item.reads_pushed_metrics]
    if not readers and not facts.receivers:
        yield ok("no scorer reads OpenTelemetry metrics")
        return
    if not facts.receivers:
        yield unknown(
            f"{plural(len(readers), 'scorer')} of OpenTelemetry metrics: the hub does not show what"
            " collectors push",
            f"kubectl --context CLUSTER -n {AGENT_NAMESPACE} port-forward deployment/{ADDON_NAME}"
            f" {_LOCAL_PORT}:{RECEIVER_PORT}  # on the cluster itself; then: gitops-dsf doctor --receiver"
            f" CLUSTER=http://127.0.0.1:{_LOCAL_PORT}",
        )
        return
    found = False
    for receiver in facts.receivers:
        if receiver.failure:
            found = True
            yield unknown(f"receiver of {receiver.cluster}: {receiver.failure}")
            continue
        for metric, number in Counter(name for name, values in receiver.series if alternates(values)).items():
            found = True
            yield warning(
                f"receiver of {receiver.cluster}: {number} series of {metric} jump at every sample,"
                " as if two collectors each push a part",
                "give each replica of the collector an attribute of its own, such as service.instance.id, or"
                " run one replica",
                subject=receiver.cluster,
            )
    if not found:
        yield ok(f"{plural(len(facts.receivers), 'receiver')}: no series has two collectors")
