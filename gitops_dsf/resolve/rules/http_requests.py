"""Checks headers and URL parameters that people add to the requests of the agent."""

from collections.abc import Iterator, Mapping
from typing import Final

from dsf_wire.headers import name_fault, value_fault
from dsf_wire.prometheus import parameter_fault
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.url_parameters import url_parameters

_HEADER_HINTS: Final[Mapping[str, str]] = {
    "authorization": "write auth.tokenSecretRef for a token, or basicAuth for a password",
    "host": "write the name into host",
}
_PARAMETER_HINTS: Final[Mapping[str, str]] = {
    "query": "write it into source.params.query",
    "start": "write source.params.range, the seconds of history",
    "end": "remove it: the agent asks for the present, and for source.params.range before it",
    "step": "write it into source.params.step",
    "time": "remove it: the agent asks for the present",
    "timeout": "remove it: --request-timeout of the agent bounds the whole request",
    "limit": "remove it, and choose series in the query, such as with topk",
}
"""Hints for parameters that are part of the query."""


@rule()
def headers_can_be_sent(context: Context) -> Iterator[Diagnostic]:
    """A header must be valid in HTTP and written once, and not be one that the agent sets."""
    for variant in context.source_variants:
        seen: set[str] = set()
        for index, header in enumerate(variant.value.headers):
            # Case does not count in names of headers (RFC 9110, section 5.1).
            name = header.name.lower()
            path = (*variant.path, "headers", index)
            if fault := name_fault(header.name):
                hint = _HEADER_HINTS.get(name, "remove it, or correct the name")
                yield codes.BAD_HEADER.at(variant.source.at(*path, "name"), fault, hint)
            elif name in seen:
                yield codes.BAD_HEADER.at(
                    variant.source.at(*path, "name"),
                    f"the header {header.name} is written twice",
                    "remove one of them",
                )
            seen.add(name)
            fault = value_fault(header.value) if header.value is not None else ""
            if fault:
                yield codes.BAD_HEADER.at(
                    variant.source.at(*path, "value"),
                    f"the header {header.name}: {fault}",
                    "write printable ASCII characters on one line",
                )


@rule()
def parameters_can_be_sent(context: Context) -> Iterator[Diagnostic]:
    """A URL parameter needs a printable name and value, and must not be a part of the question."""
    for owner, path, parameters in url_parameters(context):
        for name, value in parameters.items():
            if fault := parameter_fault(name, value):
                hint = _PARAMETER_HINTS.get(name.lower(), "remove it, or correct it")
                yield codes.BAD_PARAMETER.at(owner.document.key_at((*path, name)), fault, hint)
