"""Kinds of hosts, and whether a program on the hub may send credentials to one.

Only names and addresses are judged. The addresses of a name are unknown here.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from gitops_dsf.globs import matches

_METADATA_NAMES: Final = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
_METADATA_ADDRESSES: Final = frozenset(
    map(
        ipaddress.ip_address,
        (
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure
            "fd00:ec2::254",  # AWS
            "fd00:ec2::23",  # EKS
            "fd20:ce::254",  # Google
            "fd00:c1::a9fe:a9fe",  # Oracle
        ),
    )
)
"""Metadata services that are not link-local. In most clouds it is 169.254.169.254."""
_CARRY_IPV4: Final = tuple(map(ipaddress.IPv6Network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")))
"""Networks whose last 32 bits are the IPv4 address that is meant.

These are the old compatible form, and NAT64.
"""
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")


def is_in_cluster(host: str) -> bool:
    """Whether a name is one of a Service: `x.y.svc`, `x.y.svc.cluster.local`, or without a dot."""
    name = host.rstrip(".").lower()
    if _address(name) is not None:
        return False
    return "." not in name or name.endswith((".svc", ".svc.cluster.local"))


def is_local(host: str) -> bool:
    """Whether a host is the machine or pod that asks, such as localhost, 127.0.0.1 or 0.0.0.0."""
    name = host.rstrip(".").lower()
    address = _address(name)
    if address is None:
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def is_metadata(host: str) -> bool:
    """Whether a host is link-local or a cloud's metadata service.

    That service gives the credentials of a machine to every program on it.
    """
    name = host.rstrip(".").lower()
    if name in _METADATA_NAMES:
        return True
    address = _address(name)
    return address is not None and (address.is_link_local or address in _METADATA_ADDRESSES)


def may_get_credentials(host: str, *, allowed: Iterable[str], own: bool) -> bool:
    """Whether a program on the hub may send credentials of scoring.auth to a host.

    It may if spec.allowedTokenHosts (`allowed`) matches the host. In the cluster it may also if the
    host is that of the scoring API or of its token server (`own`).
    """
    # A metadata service is refused first, so that a wide glob does not allow it.
    if not host or is_metadata(host):
        return False
    if any(matches(host, pattern) for pattern in allowed):
        return True
    return own and is_in_cluster(host)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parses an address in any spelling that resolvers accept; None if it is a name.

    Such spellings are 2852039166, 169.254.43518 and fe80::1%eth0. With them a check of the usual
    one is evaded.
    """
    if ":" in name:
        try:
            return _meant(ipaddress.IPv6Address(name.partition("%")[0]))
        except ValueError:
            return None
    parts = name.split(".")
    if len(parts) > 4 or not all(map(_NUMBER.fullmatch, parts)):
        return None
    try:
        # The last number fills all bytes that the others leave (inet_aton).
        *first, last = [int(part, _base(part)) for part in parts]
        return ipaddress.IPv4Address(bytes(first) + last.to_bytes(4 - len(first)))
    except (ValueError, OverflowError):
        return None


def _base(number: str) -> int:
    if number[:2].lower() == "0x":
        return 16
    return 8 if number.startswith("0") else 10


def _meant(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address to which a host or a NAT64 gateway sends what goes to an IPv6 address."""
    carried = None
    # ::1 is the machine itself, and not 0.0.0.1.
    if int(address) > 1 and any(address in network for network in _CARRY_IPV4):
        carried = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or carried or address
