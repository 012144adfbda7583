"""IP addresses and networks in CEL (apiserver/pkg/cel/library/ip.go and cidr.go).

As in Kubernetes, zones and IPv4-mapped addresses are refused.
"""

import ipaddress
from collections.abc import Callable

from gitops_dsf.simulator.cel.function import (
    CelFailure,
    CelFunction,
    Opaque,
    function,
    kind,
    method,
    parses,
    text_of,
)

IP = "net.IP"
CIDR = "net.CIDR"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _address(text: str) -> _Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise CelFailure(
            f"IP Address {text!r} parse error during conversion from string"
        ) from error
    if isinstance(address, ipaddress.IPv6Address) and (
        address.scope_id is not None or address.ipv4_mapped is not None
    ):
        raise CelFailure(
            f"IP address {text!r} with a zone or an IPv4-mapped address is not allowed"
        )
    return address


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
    """Whether an address is global unicast to Go (netip.Addr.IsGlobalUnicast)."""
    # Private ranges count as global there. The broadcast address of IPv4 does not.
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
    if isinstance(other, str):
        inner = _interface(other).network
    else:
        inner = _cidr(other).network
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
    if isinstance(value, str):
        return {IP: str(_address(value))}
    return {IP: str(_cidr(value).ip)}


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def functions() -> tuple[CelFunction, ...]:
    """The functions as CEL declares them.

    string(ip) and string(cidr) are missing: the evaluator cannot extend CEL's own string().
    """
    to_ip = CelFunction(
        "ip",
        (
            *function("ip", _to_ip, ("string", IP)).overloads,
            *method("ip", _to_ip, (CIDR, IP)).overloads,
        ),
        _to_ip,
    )
    return (
        to_ip,
        parses("isIP", _address),
        function("ip.isCanonical", _is_canonical, ("string", "bool")),
        method("family", lambda value: _ip(value).version, (IP, "int")),
        _test("isUnspecified", lambda address: address.is_unspecified),
        _test("isLoopback", lambda address: address.is_loopback),
        _test("isLinkLocalMulticast", _link_local_multicast),
        _test("isLinkLocalUnicast", lambda address: address.is_link_local),
        _test("isGlobalUnicast", _global_unicast),
        *kind("cidr", CIDR, _interface, test="isCIDR"),
        method("containsIP", _contains_ip, (CIDR, "string", "bool"), (CIDR, IP, "bool")),
        method("containsCIDR", _contains_cidr, (CIDR, "string", "bool"), (CIDR, CIDR, "bool")),
        method("prefixLength", lambda value: _cidr(value).network.prefixlen, (CIDR, "int")),
        method("masked", _masked, (CIDR, CIDR)),
    )


def _test(name: str, holds: Callable[[_Address], bool]) -> CelFunction:
    """A method of an IP address that is true or false."""
    return method(name, lambda value: holds(_ip(value)), (IP, "bool"))
