"""Checks that the Applications of ApplicationSets name one cluster.

The destination of a ScoredApplication is rendered. Argo CD's rule is in util/argo/argo.go of 3.6.1,
GetDestinationServer.
"""

import re
from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.resolve.application_templates import ACTION, Template, templates
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.generators import GENERATOR, generators
from gitops_dsf.resolve.rules.registry import rule

_DESTINATION: Final[FieldPath] = ("spec", "destination")
_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?(?:name|clusterName|server)\s*-?\}\}")
"""A parameter that every decision has, and that is never empty."""


@rule()
def destinations_name_one_cluster(context: Context) -> Iterator[Diagnostic]:
    """Argo CD reports an Application with name and server, or with neither, as invalid."""
    for application_set in context.declared.application_sets:
        document = application_set.document
        # Only the parameters of decisions are known never to be empty.
        by_decisions = all(generator[-1] == GENERATOR for generator in generators(document))
        for template in templates(document):
            yield from _of_a_template(document, template, by_decisions=by_decisions)


def _of_a_template(
    document: Document, template: Template, *, by_decisions: bool
) -> Iterator[Diagnostic]:
    is_written = any(document.has((*path, *_DESTINATION)) for path in template.places)
    if not is_written or template.may_be_patched("destination"):
        return  # the API server refuses a template without a destination
    name = template.value(*_DESTINATION, "name") or ""
    server = template.value(*_DESTINATION, "server") or ""
    if not isinstance(name, str) or not isinstance(server, str):
        return  # another rule reports the type
    if not name and not server:
        yield codes.DESTINATION.at(
            document.key_at(template.path_of(*_DESTINATION)),
            "the destination has neither name nor server: Argo CD refuses the Application",
            "write name: '{{.name}}' for the cluster of the decision",
        )
    elif _is_never_empty(name, by_decisions=by_decisions) and _is_never_empty(
        server, by_decisions=by_decisions
    ):
        yield codes.DESTINATION.at(
            document.key_at(template.path_of(*_DESTINATION, "server")),
            "the destination has name and server: Argo CD refuses the Application",
            "remove one of the two",
        )


def _is_never_empty(text: str, *, by_decisions: bool) -> bool:
    """Whether a text is never empty, whatever the parameters are.

    The result of an action may be empty: authors write both fields, of which one is empty.
    """
    if ACTION.sub("", text).strip():
        return True
    return by_decisions and _PARAMETER.fullmatch(text) is not None
