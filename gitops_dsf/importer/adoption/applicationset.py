"""Writes a ScoredApplication for a live ApplicationSet, as far as it has fields for its content.

Content without a field is left out here. `adopt` compares the rendered object with the live one,
and takes the ApplicationSet as it is if anything differs.
"""

from collections.abc import Mapping
from typing import Any, Final

from gitops_dsf.hub.names import APPLICATION_LABEL, IN_CLUSTER, PULL_ANNOTATION, PULL_LABEL
from gitops_dsf.importer.adoption.liveset import LiveSet, NotExpressible
from gitops_dsf.importer.manifest import ImportedObject
from gitops_dsf.render.applicationsets import PULLED
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.model.base import PRODUCT_API
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP

_STRATEGIES: Final[Mapping[str, str]] = {"sync": "Replace", "create-update": "Keep"}
"""The strategy of moves for each value of applicationsSync."""
_PASSED_ON: Final = ("ignoreDifferences", "info", "revisionHistoryLimit")
"""Fields of the template's spec that an application has under the same name."""


def application_of(live: LiveSet) -> ImportedObject:
    """The ScoredApplication of an ApplicationSet, without its ranking.

    Raises NotExpressible where Applications could not be said to be on a decided cluster.
    """
    template_spec = value_at(live.spec, ("template", "spec")) or {}
    application: ImportedObject = {}
    for field in ("source", "sources"):
        if template_spec.get(field):
            application[field] = template_spec[field]
    application["project"] = _project(template_spec)
    application["destinationNamespace"] = _namespace(template_spec)
    # Without a policy, an application of ours is synced by itself.
    application["syncPolicy"] = template_spec.get("syncPolicy") or {}
    for field in _PASSED_ON:
        if field in template_spec:
            application[field] = template_spec[field]
    template = _template(live)
    if _is_pulled(live):
        application["delivery"] = "Pull"
        # The delivery writes these.
        template["labels"] = _other_than(template["labels"], {PULL_LABEL: "true"})
        template["annotations"] = _other_than(template["annotations"], PULLED)
    else:
        template["destination"] = _destination(template_spec)
    application["template"] = _without_defaults(template)
    application["applicationSet"] = _options(live)
    moves = {
        "strategy": _strategy(live),
        "refreshSeconds": live.refresh_seconds,
    }
    filled_fields = {name: content for name, content in application.items() if content != {}}
    # An empty policy means that nothing is synced automatically, so it stays.
    filled_fields["syncPolicy"] = application["syncPolicy"]
    return {
        "apiVersion": PRODUCT_API,
        "kind": "ScoredApplication",
        "metadata": {"name": live.name},
        "spec": {"application": _in_order(filled_fields), "moves": moves},
    }


def _project(template_spec: Mapping[str, Any]) -> str:
    project = str(template_spec.get("project", ""))
    if "{{" in project:
        raise NotExpressible("a template chooses its AppProject")
    return project


def _namespace(template_spec: Mapping[str, Any]) -> str:
    namespace = str(value_at(template_spec, ("destination", "namespace")) or "")
    if not namespace:
        raise NotExpressible("its Applications name no namespace")
    if "{{" in namespace:
        raise NotExpressible("a template chooses the namespace of its Applications")
    return namespace


def _destination(template_spec: Mapping[str, Any]) -> str:
    destination = template_spec.get("destination") or {}
    if destination.get("name") == "{{.name}}" and not destination.get("server"):
        return "Name"
    if destination.get("server") == "{{.server}}" and not destination.get("name"):
        return "Server"
    raise NotExpressible("its Applications do not go to the cluster of the decision")


def _is_pulled(live: LiveSet) -> bool:
    """Whether OCM's pull integration delivers the Applications."""
    metadata = value_at(live.spec, ("template", "metadata")) or {}
    is_marked = value_at(metadata, ("labels", PULL_LABEL)) == "true"
    cluster = value_at(metadata, ("annotations", PULL_ANNOTATION))
    server = value_at(live.spec, ("template", "spec", "destination", "server"))
    return bool(is_marked and cluster == "{{.name}}" and server == IN_CLUSTER)


def _template(live: LiveSet) -> ImportedObject:
    metadata = value_at(live.spec, ("template", "metadata")) or {}
    name = str(metadata.get("name", ""))
    labels = dict(metadata.get("labels") or {})
    template: ImportedObject = {}
    if name != f"{live.name}-{{{{.name}}}}":
        template["name"] = name
    template["marks"] = "Rendered" if labels.get(APPLICATION_LABEL) == live.name else "None"
    for field in ("labels", "annotations", "finalizers"):
        template[field] = metadata.get(field) or None
    return template


def _other_than(entries: Mapping[str, str] | None, written: Mapping[str, str]) -> ImportedObject:
    """Labels or annotations without those that are written anyway."""
    return {key: value for key, value in (entries or {}).items() if written.get(key) != value}


def _without_defaults(template: ImportedObject) -> ImportedObject:
    defaults = {"destination": "Name", "marks": "Rendered"}
    order = ("name", "labels", "annotations", "finalizers", "destination", "marks")
    template_fields = {}
    for field in order:
        content = template.get(field)
        if content and content != defaults.get(field):
            template_fields[field] = content
    return template_fields


def _options(live: LiveSet) -> ImportedObject:
    options: ImportedObject = {}
    if live.config_map != DUCK_TYPE_CONFIGMAP:
        options["configMapRef"] = live.config_map
    if value_at(live.spec, ("syncPolicy", "preserveResourcesOnDeletion")):
        options["preserveResourcesOnDeletion"] = True
    for field in ("preservedFields", "ignoreApplicationDifferences"):
        if live.spec.get(field):
            options[field] = live.spec[field]
    return options


def _strategy(live: LiveSet) -> str:
    policy = value_at(live.spec, ("syncPolicy", "applicationsSync"))
    strategy = _STRATEGIES.get(str(policy))
    if strategy is None:
        raise NotExpressible(f"its syncPolicy.applicationsSync is {policy}")
    return strategy


def _in_order(application: ImportedObject) -> ImportedObject:
    """The fields as people write them: what is deployed, where to, and then how."""
    first = ("source", "sources", "project", "destinationNamespace", "syncPolicy", "delivery")
    ordered: ImportedObject = {}
    for field in first:
        if field in application:
            ordered[field] = application[field]
    return {**ordered, **application}
