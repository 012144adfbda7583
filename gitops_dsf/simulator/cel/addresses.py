"""IP and CIDR functions (apiserver/pkg/cel/library/{ip,cidr}.go). Rejects zones and IPv4-mapped addresses."""

from __future__ import annotations

import ipaddress

from gitops_dsf.simulator.cel.function import CelFailure, Function, Opaque, Overload, opaque, text_of

IP = "net.IP"
CIDR = "net.CIDR"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _address(text: str) -> _Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError as error:
        raise CelFailure(f"IP Address {text!r} parse error during conversion from string") from error
    if isinstance(found, ipaddress.IPv6Address) and (
        found.scope_id is not None or found.ipv4_mapped is not None
    ):
        raise CelFailure(f"IP address {text!r} with a zone or an IPv4-mapped address is not allowed")
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


def _parses(text: str, *, cidr: bool) -> bool:
    try:
        _interface(text) if cidr else _address(text)
    except CelFailure:
        return False
    return True


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
    return outer.version == inner.version and outer.overlaps(inner) and outer.prefixlen <= inner.prefixlen


def _masked(value: Opaque) -> Opaque:
    network = _cidr(value).network
    return opaque(CIDR, f"{network.network_address}/{network.prefixlen}")


def functions() -> tuple[Function, ...]:
    """The functions, without string(ip) and string(cidr), because the evaluator cannot extend CEL's own
    string().
    """

    def on_ip(name: str, identifier: str, call: object) -> Function:
        assert callable(call)  # noqa: S101 - narrows the type for the checker
        return Function(name, (Overload(identifier, (IP,), "bool"),), lambda value: call(_ip(value)))

    return (
        Function(
            "ip", (Overload("string_to_ip", ("string",), IP, False), Overload("cidr_ip", (CIDR,), IP)), _to_ip
        ),
        Function(
            "isIP", (Overload("is_ip", ("string",), "bool", False),), lambda text: _parses(text, cidr=False)
        ),
        Function("ip.isCanonical", (Overload("ip_is_canonical", ("string",), "bool", False),), _is_canonical),
        Function("family", (Overload("ip_family", (IP,), "int"),), lambda value: _ip(value).version),
        on_ip("isUnspecified", "ip_is_unspecified", lambda address: address.is_unspecified),
        on_ip("isLoopback", "ip_is_loopback", lambda address: address.is_loopback),
        on_ip("isLinkLocalMulticast", "ip_is_link_local_multicast", _link_local_multicast),
        on_ip("isLinkLocalUnicast", "ip_is_link_local_unicast", lambda address: address.is_link_local),
        on_ip("isGlobalUnicast", "ip_is_global_unicast", _global_unicast),
        Function(
            "cidr",
            (Overload("string_to_cidr", ("string",), CIDR, False),),
            lambda text: opaque(CIDR, str(_interface(text))),
        ),
        Function(
            "isCIDR",
            (Overload("is_cidr", ("string",), "bool", False),),
            lambda text: _parses(text, cidr=True),
        ),
        Function(
            "containsIP",
            (
                Overload("cidr_contains_ip_string", (CIDR, "string"), "bool"),
                Overload("cidr_contains_ip_ip", (CIDR, IP), "bool"),
            ),
            _contains_ip,
        ),
        Function(
            "containsCIDR",
            (
                Overload("cidr_contains_cidr_string", (CIDR, "string"), "bool"),
                Overload("cidr_contains_cidr", (CIDR, CIDR), "bool"),
            ),
            _contains_cidr,
        ),
        Function(
            "prefixLength",
            (Overload("cidr_prefix_length", (CIDR,), "int"),),
            lambda value: _cidr(value).network.prefixlen,
        ),
        Function("masked", (Overload("cidr_masked", (CIDR,), CIDR),), _masked),
    )


def _to_ip(value: Opaque | str) -> Opaque:
    return opaque(IP, str(_address(value)) if isinstance(value, str) else str(_cidr(value).ip))


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text
