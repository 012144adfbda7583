"""Functions of Kubernetes that read texts (apiserver/pkg/cel/library): patterns (regex.go) with RE2, which
has the same syntax and leftmost-first rule as Go; URLs (urls.go); semantic versions (semverlib.go,
blang/semver v4); IP and CIDR (ip.go, cidr.go), without zones and IPv4-mapped addresses.
"""

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from gitops_dsf.simulator.cel.function import (
    CelFailure,
    CelUnsupported,
    Function,
    Opaque,
    function,
    kind,
    method,
    parses,
    text_of,
)

URL = "kubernetes.URL"
SEMVER = "kubernetes.Semver"
LONGEST_PATTERN = 10_000
"""Characters of a pattern. RE2 takes gigabytes for five times as many groups."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type stubs
    if len(pattern) > LONGEST_PATTERN:
        raise CelUnsupported(f"a regular expression beyond {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        detail = (
            error.args[0].decode()
            if error.args and isinstance(error.args[0], bytes)
            else str(error)
        )
        raise CelFailure(f"error parsing regexp: {detail}") from error


def _find(text: str, pattern: str) -> str:
    found = _compiled(pattern).search(text)
    return str(found.group()) if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches = [str(found.group()) for found in _compiled(pattern).finditer(text)]
    if "" in matches:
        raise CelUnsupported(f"findAll with {pattern!r}, which matches the empty text")
    return matches if limit < 0 else matches[:limit]


def regex_error(pattern: str) -> str | None:
    """What is wrong with a constant pattern, as OCM finds. Raises CelUnsupported if only Go refuses it."""
    if "\\C" in pattern:
        raise CelUnsupported(f"the regular expression {pattern!r}: Go has no \\C")
    try:
        _compiled(pattern)
    except CelFailure as error:
        return str(error)
    return None


_PLAIN = re.compile(
    r"([a-z][a-z0-9+.-]*)://(([A-Za-z0-9._-]+|\[[0-9a-f:]+\])(?::([0-9]+))?)(/[A-Za-z0-9._~/-]*)?(?:\?([A-Za-z0-9._~=&-]*))?\Z",
    re.ASCII,
)


def _plain(text: str) -> re.Match[str]:
    """Go and Python differ on escapes, user information and fragments: such texts are Unsupported."""
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
        found = _plain(text_of(value, URL)).group(group) or ""
        return found.strip("[]") if name == "getHostname" else found

    return method(name, read, (URL, "string"))


def _query(value: Opaque) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in (_plain(text_of(value, URL)).group(6) or "").split("&"):
        if pair:
            key, _, item = pair.partition("=")
            found.setdefault(key, []).append(item)
    return found


_NUMBER = r"(0|[1-9][0-9]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z",
    re.ASCII,
)
_MAX_UINT64 = 2**64 - 1


@dataclass(frozen=True, slots=True)
class _Version:
    numbers: tuple[int, int, int]
    pre: tuple[str, ...]

    def __str__(self) -> str:
        """The version without build metadata, which comparison ignores."""
        return ".".join(map(str, self.numbers)) + (f"-{'.'.join(self.pre)}" if self.pre else "")


def _parse(text: str) -> _Version:
    """As the library's first version, which OCM loads and which does not normalise `v1.28.3`."""
    matched = _VERSION.match(text)
    if not matched:
        raise CelFailure(f"{text!r} is no semantic version")
    major, minor, patch, pre, _ = matched.groups()
    parts = tuple(pre.split(".")) if pre else ()
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
        raise CelFailure(f"{text!r}: a numeric pre-release part has leading zeros")
    numbers = (int(major), int(minor), int(patch))
    if any(
        number > _MAX_UINT64
        for number in (*numbers, *(int(part) for part in parts if part.isdigit()))
    ):
        raise CelFailure(f"{text!r}: a number is too large")
    return _Version(numbers, parts)


def compare(value: Opaque, other: Opaque) -> int:
    left, right = _parse(text_of(value, SEMVER)), _parse(text_of(other, SEMVER))
    if left.numbers != right.numbers:
        return 1 if left.numbers > right.numbers else -1
    if not left.pre or not right.pre:  # a release is newer than its pre-releases
        return (not left.pre) - (not right.pre)
    left_keys, right_keys = ([_rank(part) for part in version.pre] for version in (left, right))
    return (left_keys > right_keys) - (left_keys < right_keys)


def _rank(part: str) -> tuple[int, int, str]:
    """Numbers sort below words, and by value."""
    return (0, int(part), "") if part.isdigit() else (1, 0, part)


def _number(name: str, position: int) -> Function:
    return method(
        name, lambda value: _parse(text_of(value, SEMVER)).numbers[position], (SEMVER, "int")
    )


IP = "net.IP"
CIDR = "net.CIDR"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _address(text: str) -> _Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError as error:
        raise CelFailure(
            f"IP Address {text!r} parse error during conversion from string"
        ) from error
    if isinstance(found, ipaddress.IPv6Address) and (
        found.scope_id is not None or found.ipv4_mapped is not None
    ):
        raise CelFailure(
            f"IP address {text!r} with a zone or an IPv4-mapped address is not allowed"
        )
    return found


def _interface(text: str) -> _Interface:
    address, slash, bits = text.partition("/")
    # Go accepts only a plain decimal prefix length: no netmask, no sign, no leading zero.
    if not slash or not bits.isascii() or not bits.isdigit() or (len(bits) > 1 and bits[0] == "0"):
        raise CelFailure(f"network address {text!r} parse error during conversion from string")
    parsed = _address(address)
    if int(bits) > parsed.max_prefixlen:
        raise CelFailure(f"network address {text!r} parse error during conversion from string")
    return ipaddress.ip_interface(f"{parsed}/{int(bits)}")


def _ip(value: Opaque) -> _Address:
    return ipaddress.ip_address(text_of(value, IP))


def _cidr(value: Opaque) -> _Interface:
    return ipaddress.ip_interface(text_of(value, CIDR))


def _global_unicast(address: _Address) -> bool:
    """netip.Addr.IsGlobalUnicast: private ranges count as global, the IPv4 broadcast address does not."""
    return not (
        address == ipaddress.IPv4Address("255.255.255.255")
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _link_local_multicast(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def _contains_ip(value: Opaque, other: Opaque | str) -> bool:
    address = _address(other) if isinstance(other, str) else _ip(other)
    network = _cidr(value).network
    return address.version == network.version and address in network


def _contains_cidr(value: Opaque, other: Opaque | str) -> bool:
    inner = (_interface(other) if isinstance(other, str) else _cidr(other)).network
    outer = _cidr(value).network
    return (
        outer.version == inner.version
        and outer.overlaps(inner)
        and outer.prefixlen <= inner.prefixlen
    )


def _masked(value: Opaque) -> Opaque:
    network = _cidr(value).network
    return {CIDR: f"{network.network_address}/{network.prefixlen}"}


def _to_ip(value: Opaque | str) -> Opaque:
    return {IP: str(_address(value)) if isinstance(value, str) else str(_cidr(value).ip)}


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def functions() -> tuple[Function, ...]:
    """Not string(ip) and string(cidr): the evaluator cannot extend CEL's own string()."""
    texts, found = ("string", "string"), "list(string)"
    parts = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
    both_ips = Function(
        "ip",
        (
            *function("ip", _to_ip, ("string", IP)).overloads,
            *method("ip", _to_ip, (CIDR, IP)).overloads,
        ),
        _to_ip,
    )
    return (
        method("find", _find, (*texts, "string")),
        method("findAll", _find_all, (*texts, found), (*texts, "int", found)),
        *kind("url", URL, lambda text: _plain(text).string, test="isURL"),
        *(_part(name, group) for group, name in enumerate(parts, start=1)),
        method("getQuery", _query, (URL, "map(string,list(string))")),
        *kind("semver", SEMVER, _parse, test="isSemver"),
        *(_number(name, position) for position, name in enumerate(("major", "minor", "patch"))),
        both_ips,
        parses("isIP", _address),
        function("ip.isCanonical", _is_canonical, ("string", "bool")),
        method("family", lambda value: _ip(value).version, (IP, "int")),
        method("isUnspecified", lambda value: _ip(value).is_unspecified, (IP, "bool")),
        method("isLoopback", lambda value: _ip(value).is_loopback, (IP, "bool")),
        method(
            "isLinkLocalMulticast", lambda value: _link_local_multicast(_ip(value)), (IP, "bool")
        ),
        method("isLinkLocalUnicast", lambda value: _ip(value).is_link_local, (IP, "bool")),
        method("isGlobalUnicast", lambda value: _global_unicast(_ip(value)), (IP, "bool")),
        *kind("cidr", CIDR, _interface, test="isCIDR"),
        method("containsIP", _contains_ip, (CIDR, "string", "bool"), (CIDR, IP, "bool")),
        method("containsCIDR", _contains_cidr, (CIDR, "string", "bool"), (CIDR, CIDR, "bool")),
        method("prefixLength", lambda value: _cidr(value).network.prefixlen, (CIDR, "int")),
        method("masked", _masked, (CIDR, CIDR)),
    )
