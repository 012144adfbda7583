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
    function,
    method,
    parses,
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


def _part(name: str, group: int) -> Function:
    def read(value: Opaque) -> str:
        found = _plain(text_of(value, TYPE)).group(group) or ""
        return found.strip("[]") if name == "getHostname" else found

    return method(name, read, (TYPE, "string"))


def _from_text(text: str) -> Opaque:
    return {TYPE: _plain(text).string}


def _query(value: Opaque) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in (_plain(text_of(value, TYPE)).group(6) or "").split("&"):
        if pair:
            key, _, item = pair.partition("=")
            found.setdefault(key, []).append(item)
    return found


def functions() -> tuple[Function, ...]:
    parts = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
    return (
        function("url", _from_text, ("string", TYPE)),
        parses("isURL", _plain),
        *(_part(name, group) for group, name in enumerate(parts, start=1)),
        method("getQuery", _query, (TYPE, "map(string,list(string))")),
    )
