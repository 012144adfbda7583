"""Checks that the Applications of ApplicationSets name one cluster (util/argo/argo.go of Argo CD 3.6.1,
GetDestinationServer). The destination of a ScoredApplication is rendered.
"""

import re
from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Path
from gitops_dsf.resolve.application_templates import ACTION, generators, templates
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.rules.templates import GENERATOR

_DESTINATION: Final[Path] = ("spec", "destination")
_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?(?:name|clusterName|server)\s*-?\}\}")
"""A parameter that every decision has, and that is never empty."""


@rule()
def destinations_name_one_cluster(context: Context) -> Iterator[Diagnostic]:
    """Argo CD reports an Application with name and server, or with neither, as invalid."""
    for item in context.declared.application_sets:
        document = item.document
        decided = all(place[-1] == GENERATOR for place in generators(document))
        for template in templates(document):
            written = any(document.has((*place, *_DESTINATION)) for place in template.places)
            if not written or template.may_be_patched("destination"):
                continue  # the API server wants a destination
            name, server = (
                template.value(*_DESTINATION, field) or "" for field in ("name", "server")
            )
            if not isinstance(name, str) or not isinstance(server, str):
                continue  # another rule tells
            if not name and not server:
                message = (
                    "the destination has neither name nor server: Argo CD refuses the Application"
                )
                hint = "write name: '{{.name}}' for the cluster of the decision"
                yield codes.DESTINATION.at(
                    document.key_at(template.place(*_DESTINATION)), message, hint
                )
            elif _writes(name, decided=decided) and _writes(server, decided=decided):
                message = "the destination has name and server: Argo CD refuses the Application"
                position = document.key_at(template.place(*_DESTINATION, "server"))
                yield codes.DESTINATION.at(position, message, "remove one of the two")


def _writes(text: str, *, decided: bool) -> bool:
    """Whether a text is certainly not empty. What an action gives may be empty: authors write one of both."""
    return bool(ACTION.sub("", text).strip()) or (
        decided and _PARAMETER.fullmatch(text) is not None
    )
