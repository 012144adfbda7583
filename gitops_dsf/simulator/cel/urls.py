"""URLs in CEL (apiserver/pkg/cel/library/urls.go).

Go and Python parse unusual URLs differently. Only plain ones are supported: scheme, host, port,
path and query without escapes. For the others the answer is Unsupported.
"""

import re

from gitops_dsf.simulator.cel.function import (
    CelFailure,
    CelFunction,
    CelUnsupported,
    Opaque,
    kind,
    method,
    text_of,
)

URL = "kubernetes.URL"

_PLAIN = re.compile(
    r"([a-z][a-z0-9+.-]*)"  # 1: scheme
    r"://(([A-Za-z0-9._-]+|\[[0-9a-f:]+\])(?::([0-9]+))?)"  # 2: host and port; 3, 4: each
    r"(/[A-Za-z0-9._~/-]*)?"  # 5: path
    r"(?:\?([A-Za-z0-9._~=&-]*))?\Z",  # 6: query
    re.ASCII,
)


def _plain(text: str) -> re.Match[str]:
    """The parts of a plain URL.

    Raises CelUnsupported for escapes, user information and fragments, where Go and Python differ.
    """
    if not text:
        raise CelFailure("URL parse error during conversion from string: empty url")
    matched = _PLAIN.match(text)
    if not matched:
        raise CelUnsupported(
            f"the URL {text!r}: only scheme://host[:port][/path][?query] without escapes is"
            " supported"
        )
    return matched


def _part(name: str, group: int) -> CelFunction:
    def read(value: Opaque) -> str:
        part = _plain(text_of(value, URL)).group(group) or ""
        # Go's URL.Hostname returns an IPv6 address without its brackets.
        return part.strip("[]") if name == "getHostname" else part

    return method(name, read, (URL, "string"))


def _query(value: Opaque) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for pair in (_plain(text_of(value, URL)).group(6) or "").split("&"):
        if pair:
            key, _, value_text = pair.partition("=")
            values.setdefault(key, []).append(value_text)
    return values


def functions() -> tuple[CelFunction, ...]:
    """The functions as CEL declares them."""
    parts = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
    return (
        *kind("url", URL, lambda text: _plain(text).string, test="isURL"),
        *(_part(name, group) for group, name in enumerate(parts, start=1)),
        method("getQuery", _query, (URL, "map(string,list(string))")),
    )
