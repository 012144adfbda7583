"""Checks the AppProjects of Applications: none of them may be in one of the platform.

An AppProject is a set of rights. Those of the platform's AppProjects allow ManifestWorks in the
namespace of every cluster, which is the right to do anything there, from any branch of the fleet
repository: Argo CD 3.6.1 cannot limit an AppProject to a branch. So no Application that people
write may be in them. The policy in rendered/argocd (gitops_dsf/render/argocd.py) lets the hub
refuse those that these rules do not see.
"""

import re
from collections.abc import Iterator
from typing import Final

from yaml import YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load import Document, FieldPath, texts_in, value_at
from gitops_dsf.repository.load.compose import compose, forbidden
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule

_PATCH: Final[FieldPath] = ("spec", "templatePatch")
_ACTION: Final = re.compile(r"\{\{(?P<content>.*?)\}\}", re.DOTALL)
_SILENT: Final = re.compile(
    r"-?\s*(?:/\*|(?:if|else|end|range|with|define|block|break|continue)\b|\$\w+\s*:?=)"
)
"""An action that writes nothing itself."""
_WRITTEN: Final = "\ue000"
"""Stands for each character of an action that writes something. No YAML of ours has it."""
_PROJECT: Final = re.compile(
    r"(?:^|[{,])[ \t]*[\"']?project[\"']?[ \t]*:[ \t]*[\"']?(?P<value>[^\n,}\"']*)", re.MULTILINE
)
"""A project, also as a field of a flow mapping on one line."""


@rule(needs=("FleetRepository",))
def applications_leave_the_projects_of_the_platform(context: Context) -> Iterator[Diagnostic]:
    """Finds applications in the platform's AppProjects: any branch would have its rights."""
    platform = context.settings.argocd.platform_projects
    for application in context.declared.applications:
        project = application.value.spec.application.project
        # The AppProject cannot distinguish the fleet repository's main branch from any other one.
        if project in platform:
            position = application.at("spec", "application", "project")
            yield _of_the_platform(application.name, project, position)
    for application_set in context.declared.application_sets:
        for position, project in _projects(application_set.document):
            if project in platform:
                yield _of_the_platform(application_set.name, project, position)


@rule()
def projects_are_not_templated(context: Context) -> Iterator[Diagnostic]:
    """A template can become the name of any AppProject, also of the platform's."""
    for application_set in context.declared.application_sets:
        for position, project in _projects(application_set.document):
            if "{{" in project or _WRITTEN in project:
                yield codes.TEMPLATED_PROJECT.at(
                    position,
                    "a templated project lets whoever controls the parameters choose the"
                    " permissions",
                    "write the project's name",
                )


def _of_the_platform(name: str, project: str, position: Position) -> Diagnostic:
    return codes.PLATFORM_PROJECT.at(
        position,
        f"{name} is in the AppProject {project}, which has the platform's rights on every cluster:"
        " only the Applications of rendered/argocd may be in it",
        "write an AppProject of the application's own team",
    )


def _projects(document: Document) -> Iterator[tuple[Position, str]]:
    """Every project that an ApplicationSet names: in its templates, and in its patch."""
    for path, text in texts_in(document.data["spec"], ("spec",)):
        if path[-3:] == ("template", "spec", "project"):
            yield document.at(path), text
    patch = value_at(document.data, _PATCH)
    if isinstance(patch, str):
        for offset, text in _patched(patch):
            yield document.inside(_PATCH, offset), text


def _patched(patch: str) -> Iterator[tuple[int, str]]:
    """The projects that a templatePatch writes, each with its place in the patch.

    Argo CD 3.6.1 keeps the project of the template whatever the patch says
    (docs/contributing/behaviour.md#template-patches). Versions before had no such rule, and readers
    of the repository believe what is written.
    """
    text = _ACTION.sub(_blank, patch)
    roots = _composed(text)
    if roots is None:
        # It is YAML only once the template is filled in: take the lines that look like a project.
        for match in _PROJECT.finditer(text):
            # Behind a space, # begins a comment of YAML.
            yield match.start("value"), match["value"].split(" #")[0].strip()
        return
    for root in roots:
        for spec in _fields(root, "spec"):
            for project in _fields(spec, "project"):
                if isinstance(project, ScalarNode):
                    yield _start(project, text), project.value


def _composed(text: str) -> list[Node] | None:
    """The documents of a text; None if it is not YAML that is read here."""
    try:
        return list(compose(text)) if forbidden(text) is None else None
    except YAMLError:
        return None


def _blank(action: re.Match[str]) -> str:
    """The text in place of an action: it has the same length, so that places stay."""
    if _SILENT.match(action["content"]):
        return re.sub(r"[^\n]", " ", action[0])
    return _WRITTEN * len(action[0])


def _fields(node: Node, name: str) -> Iterator[Node]:
    """The values of the fields of this name. Both branches of a condition may have one."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode) and key.value == name:
                yield value


def _start(node: ScalarNode, text: str) -> int:
    """The position where the value of a scalar begins, behind its quotes."""
    index: int = node.start_mark.index
    return index + (text[index : index + 1] in {'"', "'"})
