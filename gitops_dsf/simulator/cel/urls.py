"""URL functions (apiserver/pkg/cel/library/urls.go) for URLs without escapes, user information and fragments.

Go's and Python's parsers differ on the rest, so other texts are Unsupported.
"""

from __future__ import annotations

import re

from gitops_dsf.simulator.cel.function import (
    CelFailure,
    CelUnsupported,
    Function,
    Opaque,
    Overload,
    opaque,
    text_of,
)

TYPE = "kubernetes.URL"
_PLAIN = re.compile(
    r"([a-z][a-z0-9+.-]*)://(([A-Za-z0-9._-]+|\[[0-9a-f:]+\])(?::([0-9]+))?)(/[A-Za-z0-9._~/-]*)?(?:\?([A-Za-z0-9._~=&-]*))?\Z",
    re.ASCII,
)


def _plain(text: str) -> re.Match[str]:
    if not text:
        raise CelFailure("URL parse error during conversion from string: empty url")
    matched = _PLAIN.match(text)
    if not matched:
        raise CelUnsupported(
            f"the URL {text!r}: only scheme://host[:port][/path][?query] without escapes is supported"
        )
    return matched


def _part(name: str, identifier: str, group: int) -> Function:
    return Function(
        name,
        (Overload(identifier, (TYPE,), "string"),),
        lambda value: (_plain(text_of(value, TYPE)).group(group) or "").strip(
            "[]" if name == "getHostname" else ""
        ),
    )


def _from_text(text: str) -> Opaque:
    return opaque(TYPE, _plain(text).string)


def _is_url(text: str) -> bool:
    try:
        _plain(text)
    except CelFailure:
        return False
    return True


def _query(value: Opaque) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in (_plain(text_of(value, TYPE)).group(6) or "").split("&"):
        if pair:
            key, _, item = pair.partition("=")
            found.setdefault(key, []).append(item)
    return found


def functions() -> tuple[Function, ...]:
    return (
        Function("url", (Overload("string_to_url", ("string",), TYPE, False),), _from_text),
        Function("isURL", (Overload("is_url_string", ("string",), "bool", False),), _is_url),
        _part("getScheme", "url_get_scheme", 1),
        _part("getHost", "url_get_host", 2),
        _part("getHostname", "url_get_hostname", 3),
        _part("getPort", "url_get_port", 4),
        _part("getEscapedPath", "url_get_escaped_path", 5),
        Function("getQuery", (Overload("url_get_query", (TYPE,), "map(string,list(string))"),), _query),
    )
