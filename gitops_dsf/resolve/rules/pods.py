"""Checks what gitops-dsf.yaml says about pods, as the API server will. On managed clusters its refusal shows
only in the status of an add-on.
"""

from collections.abc import Iterator, Mapping

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.reconciler import ReconcilerResources
from gitops_dsf.repository.model.repository import HubResources, Resources
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rollouts import settings_with
from gitops_dsf.resolve.rules.selectors import KEY_RULE, VALUE_RULE, label_key, label_value


def pods_are_accepted(context: Context) -> Iterator[Diagnostic]:
    """Node selectors and resources must be ones that Kubernetes takes. Of an entry of spec.agent.rollout only
    what it says itself, and its resources as they are on its clusters.
    """
    document, spec = context.repository.document, context.repository.value.spec
    for name, settings in (
        ("agent", spec.agent),
        ("hubScorer", spec.hub_scorer),
        ("reconciler", spec.reconciler),
    ):
        yield from _nodes(document, ("spec", name), settings.node_selector)
        if "resources" in settings.model_fields_set:
            yield from _resources(document, ("spec", name), settings.resources)
    for index, entry in enumerate(spec.agent.rollout):
        path = ("spec", "agent", "rollout", index)
        yield from _nodes(document, path, entry.node_selector or {})
        if entry.resources is not None:
            yield from _resources(document, path, settings_with(spec.agent, (index,)).resources)


def _nodes(document: Document, path: Path, selector: Mapping[str, str]) -> Iterator[Diagnostic]:
    for key, value in selector.items():
        place = (*path, "nodeSelector", key)
        if not label_key(key):
            message = f"{key or 'an empty key'} is not a label key"
            yield codes.POD_PLACEMENT.at(document.key_at(place), message, KEY_RULE)
        if not label_value(value):
            yield codes.POD_PLACEMENT.at(document.at(place), f"{value} is not a label value", VALUE_RULE)


def _resources(
    document: Document, path: Path, resources: Resources | HubResources | ReconcilerResources
) -> Iterator[Diagnostic]:
    """A request above its limit."""
    both = sorted(resources.requests.keys() & resources.limits.keys())
    if not both:
        return
    from gitops_dsf.simulator.quantity import parse  # noqa: PLC0415 - slow, and rarely needed

    for name in both:
        request, limit = resources.requests[name], resources.limits[name]
        if parse(request).value > parse(limit).value:
            field = dotted((*path[1:], "resources"))
            yield codes.POD_RESOURCES.at(
                document.at((*path, "resources", "limits", name)),
                f"{field}: the request of {request} {name} is above the limit of {limit}",
                "write a larger limit, or a smaller request beside it",
            )
