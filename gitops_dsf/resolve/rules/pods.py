"""Checks what gitops-dsf.yaml says about pods, as the API server will. On managed clusters its refusal shows
only in the status of an add-on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rollouts import settings_with
from gitops_dsf.resolve.rules.selectors import KEY_RULE, VALUE_RULE, label_key, label_value

_TEXTS: Final = ("key", "operator", "value", "effect")
_OPERATORS: Final = ("Exists", "Equal")
_ALPHA: Final = ("Lt", "Gt")
"""API servers refuse them while the feature gate TaintTolerationComparisonOperators is off, as by default."""
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class _Pod:
    """The settings of a pod, and where they are written."""

    path: Path
    node_selector: Mapping[str, str]
    tolerations: list[dict[str, Any]]
    requests: Mapping[str, str]
    limits: Mapping[str, str]


def pods_are_accepted(context: Context) -> Iterator[Diagnostic]:
    """Tolerations, node selectors and resources must be ones that Kubernetes takes."""
    repository = context.declared.repository
    if repository is None:
        return
    for pod in _pods(context):
        for index, toleration in enumerate(pod.tolerations):
            yield from _toleration(repository.document, (*pod.path, "tolerations", index), toleration)
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
            tolerations=settings.tolerations,
            requests=settings.resources.requests if written else {},
            limits=settings.resources.limits if written else {},
        )
    for index, entry in enumerate(spec.agent.rollout):
        there = settings_with(spec.agent, (index,)).resources if entry.resources is not None else None
        yield _Pod(
            path=("spec", "agent", "rollout", index),
            node_selector=entry.node_selector or {},
            tolerations=entry.tolerations or [],
            requests=there.requests if there is not None else {},
            limits=there.limits if there is not None else {},
        )


def _toleration(document: Document, path: Path, toleration: dict[str, Any]) -> Iterator[Diagnostic]:
    """Fields and types that Kubernetes does not know; without them, what its ValidateTolerations reports."""
    mistakes = list(_unknown(document, path, toleration))
    yield from mistakes or _unusable(document, path, toleration)


def _unknown(document: Document, path: Path, toleration: dict[str, Any]) -> Iterator[Diagnostic]:
    for name, value in toleration.items():
        place = document.key_at((*path, name))
        if name == "tolerationSeconds":
            if not isinstance(value, int) or isinstance(value, bool):
                yield codes.POD_PLACEMENT.at(place, f"tolerationSeconds is {value}", "write whole seconds")
        elif name not in _TEXTS:
            yield codes.POD_PLACEMENT.at(
                place,
                f"{name} is no field of a toleration",
                did_you_mean(name, (*_TEXTS, "tolerationSeconds"))
                or "write key, operator, value, effect or tolerationSeconds",
            )
        elif not isinstance(value, str):
            yield codes.POD_PLACEMENT.at(place, f"{name} is {value}, which is no text", "write it in quotes")


def _unusable(document: Document, path: Path, toleration: dict[str, Any]) -> Iterator[Diagnostic]:
    key, operator, value, effect = (toleration.get(name, "") for name in _TEXTS)
    at = document.at
    if operator in _ALPHA:
        yield codes.POD_PLACEMENT.at(
            at((*path, "operator")),
            f"{operator} is an operator of tolerations that clusters refuse unless a feature gate is on",
            "write Equal with one value, or Exists for every value",
        )
    elif operator not in ("", *_OPERATORS):
        yield codes.POD_PLACEMENT.at(
            at((*path, "operator")), f"{operator} is no operator of a toleration", "write Exists or Equal"
        )
    elif not key and operator != "Exists":
        yield codes.POD_PLACEMENT.at(
            at(path),
            "a toleration without a key",
            "write the key of the taint, or operator: Exists for all taints",
        )
    elif operator == "Exists" and value:
        yield codes.POD_PLACEMENT.at(
            at((*path, "value")), "Exists does not compare values", "remove value, or write operator: Equal"
        )
    elif operator in ("", "Equal") and not label_value(value):
        yield codes.POD_PLACEMENT.at(at((*path, "value")), f"{value} is not a label value", VALUE_RULE)
    if key and not label_key(key):
        yield codes.POD_PLACEMENT.at(at((*path, "key")), f"{key} is not a label key", KEY_RULE)
    if effect not in ("", *_EFFECTS):
        yield codes.POD_PLACEMENT.at(
            at((*path, "effect")), f"{effect} is no effect of a taint", f"write {', '.join(_EFFECTS)}"
        )
    elif "tolerationSeconds" in toleration and effect != "NoExecute":
        yield codes.POD_PLACEMENT.at(
            at((*path, "tolerationSeconds")),
            "tolerationSeconds without the effect NoExecute, the only one that evicts",
            "write effect: NoExecute, or remove tolerationSeconds",
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
