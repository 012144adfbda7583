"""Reads a live ApplicationSet in one form, whatever language its templates are in.

An ApplicationSet without goTemplate is written in Argo CD's older language. The same text in Go's
language generates the same Applications (applicationset/utils/utils.go of Argo CD 3.6.1, Replace).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gitops_dsf.argocd.fasttemplate import as_go
from gitops_dsf.argocd.fields import ProblemKind, application_set_spec, problems
from gitops_dsf.argocd.writeback import written_back
from gitops_dsf.hub.application_sets import plain_placement
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.repository.load import value_at

DECIDED: Final = ("clusterName", "name", "reason", "server")
"""The parameters that the generator gives for each cluster of a decision."""
REQUEUE_SECONDS: Final = 180
"""The interval at which Argo CD 3.6.1 reads a decision if the generator names none."""
_VALUE: Final = re.compile(r"\{\{\s*values\.([^{}]*?)\s*\}\}")
_GO_VALUE: Final = re.compile(r"\{\{\s*\.values\.(\w+)\s*\}\}")
"""An action that writes a value of the generator."""
_CLUSTER: Final = re.compile(r"\{\{ *\.clusterName *\}\}")
_GO_ACTION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_LANGUAGE: Final = ("goTemplate", "goTemplateOptions", "generators")
"""Fields of a spec that say how the templates are read, and not what they say."""


class NotExpressible(Exception):  # noqa: N818 - not an error: the object is accepted as it is
    """A ScoredApplication or ScoredPlacement cannot say what an object says. The text is why."""


@dataclass(frozen=True, kw_only=True)
class LiveSet:
    """The content of an ApplicationSet, with templates in Go's language."""

    name: str
    placement: str
    """The Placement whose decision it follows."""
    config_map: str
    refresh_seconds: int
    spec: Mapping[str, Any] = field(repr=False)
    """Its spec as Argo CD stores it, without the generators."""


def read_live_set(data: Mapping[str, Any]) -> LiveSet:
    """Raises NotExpressible unless it follows the decision of one Placement by its label alone."""
    spec = without_unknown(data.get("spec") or {})
    generators = spec.get("generators") or []
    placement = plain_placement(generators)
    if not placement or "clusterDecisionResource" not in generators[0]:
        raise NotExpressible(
            "its generators are not one clusterDecisionResource with the label"
            f" {PLACEMENT_LABEL} alone"
        )
    generator = generators[0]["clusterDecisionResource"]
    values = generator.get("values") or {}
    templates = {name: content for name, content in spec.items() if name not in _LANGUAGE}
    in_go = _in_go(templates, is_go=spec.get("goTemplate") is True, values=values)
    return LiveSet(
        name=str(value_at(data, ("metadata", "name"))),
        placement=placement,
        config_map=str(generator.get("configMapRef", "")),
        refresh_seconds=int(generator.get("requeueAfterSeconds") or REQUEUE_SECONDS),
        spec=_comparable(in_go),
    )


def without_unknown(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec without nulls and fields that the API server does not store.

    ACM's wizard writes `repositoryType` into sources, which no CRD of Argo CD has.
    """
    unknown: set[tuple[Any, ...]] = set()
    for problem in problems(application_set_spec(), spec):
        if problem.kind is ProblemKind.UNKNOWN:
            unknown.add(problem.path)
    kept: dict[str, Any] = _without(spec, unknown, ())
    return kept


def _comparable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec in the form in which two that mean the same are equal."""
    stored: dict[str, Any] = written_back(application_set_spec(), _with_one_name(spec))
    policy = dict(stored.get("syncPolicy") or {})
    # Argo CD 3.6.1 creates, updates and deletes if the policy does not say.
    policy.setdefault("applicationsSync", "sync")
    template = dict(stored.get("template") or {})
    template_spec = dict(template.get("spec") or {})
    # Argo CD 3.6.1 stores an empty policy as none (util/argo/argo.go, NormalizeApplicationSpec).
    if template_spec.get("syncPolicy") == {}:
        del template_spec["syncPolicy"]
    return {**stored, "syncPolicy": policy, "template": {**template, "spec": template_spec}}


def _without(value: Any, unknown: set[tuple[Any, ...]], path: tuple[Any, ...]) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        kept = {}
        for name, content in value.items():
            below = (*path, name)
            if content is not None and below not in unknown:
                kept[name] = _without(content, unknown, below)
        return kept
    if isinstance(value, list):
        return [_without(element, unknown, (*path, index)) for index, element in enumerate(value)]
    return value


def _in_go(
    value: Any,  # noqa: ANN401 - plain data
    *,
    is_go: bool,
    values: Mapping[str, str],
) -> Any:  # noqa: ANN401 - plain data
    """Texts in Go's language, with the values of the generator in their places."""
    if isinstance(value, dict):
        converted: dict[str, Any] = {}
        for key, content in value.items():
            # The old key would stay beside the new one: whoever wrote it owns it on the hub.
            if "{{" in key and not is_go:
                raise NotExpressible(f"the key {key} is a template without goTemplate: true")
            converted[key] = _in_go(content, is_go=is_go, values=values)
        return converted
    if isinstance(value, list):
        return [_in_go(element, is_go=is_go, values=values) for element in value]
    if not isinstance(value, str):
        return value
    action_of_a_value = _GO_VALUE if is_go else _VALUE
    text = action_of_a_value.sub(lambda match: _value(match, values), value)
    if not is_go:
        return as_go(text, DECIDED)
    # An ApplicationSet of ours has no `values`, so what is left of them would be empty.
    for action in _GO_ACTION.findall(text):
        if ".values" in action:
            raise NotExpressible(f"{action} does more with a value of the generator than write it")
    return text


def _value(match: re.Match[str], values: Mapping[str, str]) -> str:
    value = values.get(match[1])
    if value is None:
        return match[0]
    if "{{" in value:
        raise NotExpressible(f"the value {match[1]} of the generator has braces")
    return value


def _with_one_name(value: Any) -> Any:  # noqa: ANN401 - plain data
    """The data with `name` for the cluster in place of `clusterName`, which means the same."""
    if isinstance(value, dict):
        return {name: _with_one_name(content) for name, content in value.items()}
    if isinstance(value, list):
        return [_with_one_name(element) for element in value]
    return _CLUSTER.sub("{{.name}}", value) if isinstance(value, str) else value
