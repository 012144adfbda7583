"""Checks what gitops-dsf.yaml says about pods, as the API server will. On managed clusters its refusal shows
only in the status of an add-on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rollouts import settings_with
from gitops_dsf.resolve.rules.selectors import KEY_RULE, VALUE_RULE, label_key, label_value


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class _Pod:
    """The settings of a pod, and where they are written."""

    path: Path
    node_selector: Mapping[str, str]
    requests: Mapping[str, str]
    limits: Mapping[str, str]


def pods_are_accepted(context: Context) -> Iterator[Diagnostic]:
    """Node selectors and resources must be ones that Kubernetes takes."""
    repository = context.declared.repository
    if repository is None:
        return
    for pod in _pods(context):
        for key, value in pod.node_selector.items():
            place = (*pod.path, "nodeSelector", key)
            if not label_key(key):
                yield codes.POD_PLACEMENT.at(
                    repository.document.key_at(place), f"{key or 'an empty key'} is not a label key", KEY_RULE
                )
            if not label_value(value):
                yield codes.POD_PLACEMENT.at(
                    repository.document.at(place), f"{value} is not a label value", VALUE_RULE
                )
        yield from _resources(repository.document, pod)


def _pods(context: Context) -> Iterator[_Pod]:
    """Every pod that gitops-dsf.yaml describes. Of an entry of spec.agent.rollout only what it says itself,
    and its resources as they are on its clusters.
    """
    repository = context.declared.repository
    if repository is None:
        return
    spec = repository.value.spec
    for name, settings in (
        ("agent", spec.agent),
        ("hubScorer", spec.hub_scorer),
        ("reconciler", spec.reconciler),
    ):
        written = "resources" in settings.model_fields_set
        yield _Pod(
            path=("spec", name),
            node_selector=settings.node_selector,
            requests=settings.resources.requests if written else {},
            limits=settings.resources.limits if written else {},
        )
    for index, entry in enumerate(spec.agent.rollout):
        there = settings_with(spec.agent, (index,)).resources if entry.resources is not None else None
        yield _Pod(
            path=("spec", "agent", "rollout", index),
            node_selector=entry.node_selector or {},
            requests=there.requests if there is not None else {},
            limits=there.limits if there is not None else {},
        )


def _resources(document: Document, pod: _Pod) -> Iterator[Diagnostic]:
    """A request above its limit."""
    if not pod.requests.keys() & pod.limits.keys():
        return
    from gitops_dsf.simulator.quantity import parse  # noqa: PLC0415 - slow, and rarely needed

    for name in sorted(pod.requests.keys() & pod.limits.keys()):
        request, limit = pod.requests[name], pod.limits[name]
        if parse(request).value > parse(limit).value:
            field = dotted((*pod.path[1:], "resources"))
            yield codes.POD_RESOURCES.at(
                document.at((*pod.path, "resources", "limits", name)),
                f"{field}: the request of {request} {name} is above the limit of {limit}",
                "write a larger limit, or a smaller request beside it",
            )
