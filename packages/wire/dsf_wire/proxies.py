"""Proxies for requests, by the variables of the environment.

HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in upper or lower case, are read as Go programs
(golang.org/x/net/http/httpproxy v0.62) and curl (since 7.86) read them. Libraries of Python know no
address ranges in NO_PROXY: urllib ignores them, and httpx 0.28 raises an exception for one of IPv6.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import urlsplit

from dsf_wire.weburl import is_web_url

_PORTS: Final = {"http": 80, "https": 443}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyFault(ValueError):  # noqa: N818 - a finding about a setting, not a mistake of ours
    """A proxy cannot be used.

    The message names the setting, and not its value, which may have a password.
    """


@dataclass(frozen=True, kw_only=True)
class Proxies:
    """The proxies of an environment."""

    by_scheme: Mapping[str, tuple[str, str]] = field(repr=False)
    """The name of the variable and its value, for http and https."""
    exceptions: "Exceptions"

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Reads the variables.

        Values that cannot be used are reported when a request would need them.
        """
        by_scheme = {}
        for scheme in _PORTS:
            # ALL_PROXY is curl's: Go does not know it.
            for name in (f"{scheme}_proxy", "all_proxy"):
                # The lower-case name comes first, as in curl; Go takes the upper-case one first. An
                # empty variable counts as absent, as in both.
                spellings = (name, name.upper())
                variable = next((spelling for spelling in spellings if environ.get(spelling)), None)
                if variable is not None:
                    by_scheme[scheme] = variable, environ[variable]
                    break
        exceptions = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
        return cls(by_scheme=by_scheme, exceptions=Exceptions.of(exceptions))

    def proxy_for(self, url: str) -> str | None:
        """The URL of the proxy for a request; None if it goes to the host itself.

        Raises ProxyFault.
        """
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            port = parts.port
        except ValueError:
            return None
        variable, proxy = self.by_scheme.get(parts.scheme, ("", ""))
        if not proxy or self.exceptions.cover(host, port or _PORTS[parts.scheme]):
            return None
        return checked_proxy(proxy, where=variable)


def checked_proxy(proxy: str, *, where: str) -> str:
    """The URL of a proxy, whose scheme may be left out. Raises ProxyFault."""
    text = proxy.strip()
    url = text if "://" in text else f"http://{text}"
    if not is_web_url(url):
        raise ProxyFault(
            f"{where} is not an http or https URL of a proxy, such as http://proxy.example.com:3128"
        )
    return url


@dataclass(frozen=True, kw_only=True)
class _NoProxyEntry:
    """A host, or a domain with its subdomains."""

    name: str
    """The name in lower case, without the leading dot; an address in its shortest form."""
    port: int | None
    is_address: bool

    def covers(self, name: str, port: int, *, is_address: bool) -> bool:
        if self.port not in {None, port}:
            return False
        if self.is_address or is_address:
            return self.name == name
        return name == self.name or name.endswith(f".{self.name}")


@dataclass(frozen=True, kw_only=True)
class Exceptions:
    """The entries of NO_PROXY. Requests to the machine itself never use a proxy, as in Go."""

    everything: bool = False
    networks: tuple[Network, ...] = ()
    entries: tuple[_NoProxyEntry, ...] = ()

    @classmethod
    def of(cls, text: str) -> Self:
        """Reads a list with commas or spaces.

        Other programs ignore what makes no sense, and so does this.
        """
        words = text.replace(",", " ").lower().split()
        networks: list[Network] = []
        entries: list[_NoProxyEntry] = []
        for word in words:
            network = _network(word)
            if network is not None:
                networks.append(network)
            elif entry := _entry(word):
                entries.append(entry)
        return cls(everything="*" in words, networks=tuple(networks), entries=tuple(entries))

    def cover(self, host: str, port: int) -> bool:
        """Whether requests to this host and port go to it directly."""
        # `example.com.` is the absolute form of the same name.
        name = host.rstrip(".").lower()
        address = address_of(name)
        if self.everything or name == "localhost" or (address is not None and address.is_loopback):
            return True
        if address is not None and any(address in network for network in self.networks):
            return True
        name = name if address is None else str(address)
        return any(
            entry.covers(name, port, is_address=address is not None) for entry in self.entries
        )


def _network(word: str) -> Network | None:
    if "/" not in word:
        return None
    try:
        # Not strict: 10.1.2.3/8 is the range 10.0.0.0/8, as in Go's net.ParseCIDR.
        return ipaddress.ip_network(word, strict=False)
    except ValueError:
        return None


def _entry(word: str) -> _NoProxyEntry | None:
    host, port = _split(word)
    address = address_of(host.removeprefix("[").removesuffix("]"))
    # curl takes .example.com for the domain itself, too; Go only for the names in it.
    name = host.removeprefix("*").lstrip(".").rstrip(".") if address is None else str(address)
    return _NoProxyEntry(name=name, port=port, is_address=address is not None) if name else None


def _split(word: str) -> tuple[str, int | None]:
    """Host and port of an entry. An address of IPv6 has a port only after brackets."""
    host, colon, port = word.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if colon and port.isascii() and port.isdigit() and (bracketed or ":" not in host):
        return host, int(port)
    return word, None


def address_of(host: str) -> Address | None:
    """The address that a host is; None for a name.

    One of IPv4 inside of IPv6 is that of IPv4, as in Go.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if address.version == 6 else address


def entry_faults(entries: Iterable[str]) -> Iterator[str]:
    """The entries of a list with commas that are no names, addresses or ranges.

    Empty ones are ignored.
    """
    for entry in map(str.strip, entries):
        if not entry or entry == "*" or _network(entry) is not None:
            continue
        if "/" in entry or any(map(str.isspace, entry)) or _entry(entry.lower()) is None:
            yield entry
