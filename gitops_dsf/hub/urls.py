"""URLs of scoring APIs, metric sources and git, and what kind of place a host is."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.hub.glob import matches

API_PATH: Final = "/api/v1"
QUERY_PATH: Final = f"{API_PATH}/query_range"
INSTANT_PATH: Final = f"{API_PATH}/query"
SCORING_PATH: Final = "/scoring"
RECEIVER_PORT: Final = 9090
RECEIVER_ORIGIN: Final = f"http://127.0.0.1:{RECEIVER_PORT}"
"""Where the agent reaches the receiver for OpenTelemetry metrics, which runs in its pod."""
_MISLEADS_GIT: Final = re.compile(r"[\w+.-]+::|(?:[^/]*://)?(?:[^/@]*@)?-|[^/:]*:-")
_BROWSED: Final = re.compile(
    r"(https?://[^/\s]+/[^/\s]+/\S+?)/(?:-/)?(?:tree|blob|src/branch)/(\S+?)/?"
)


def origin(url: str) -> str:
    """Scheme, host and port of a URL; empty if it has none."""
    parts = _parts(url)
    return (
        urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        if parts.scheme and parts.netloc
        else ""
    )


def host_of(url: str) -> str:
    """The host of a URL in lower case; empty if it has none."""
    return _parts(url).hostname or ""


def has_path(url: str) -> bool:
    return path_of(url) not in {"", "/"}


def path_of(url: str) -> str:
    """The path of a URL; empty if it is not a URL."""
    return _parts(url).path


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def is_query_api(path: str) -> bool:
    """Whether a path is that of a query API of Prometheus, whatever is before it.

    Other paths are those below which the API is, such as /select/0/prometheus.
    """
    return path.rstrip("/").endswith(("/query", "/query_range"))


def query_api_below(path: str, *, of_instant: bool) -> str:
    """The path of a query API below a base path, which may have /api/v1 already."""
    whole = INSTANT_PATH if of_instant else QUERY_PATH
    return whole.removeprefix(API_PATH) if path.rstrip("/").endswith(API_PATH) else whole


def instant(url: str) -> str:
    """The URL, or path, of the instant query beside a range query. Others stay as they are."""
    bare = url.rstrip("/")
    return bare.removesuffix("_range") if bare.endswith("/query_range") else url


def ranged(url: str) -> str:
    """The URL of the range query of a store: of its base URL, or of one of its query APIs."""
    parts = _parts(url)
    path = parts.path.rstrip("/")
    if not is_query_api(path):
        path += query_api_below(path, of_instant=False)
    elif not path.endswith("_range"):
        path += "_range"
    return parts._replace(path=path).geturl()


_PAGES: Final = re.compile(
    r"(?P<base>.*?)(?:/classic)?/(?P<page>graph|targets|alerts|vmui|explore|d/[^/]+(?:/[^/]+)?)"
)
"""Of Prometheus and Thanos (graph, targets, alerts), VictoriaMetrics (vmui) and Grafana (explore,
d).
"""
_TENANT: Final = re.compile(r".*/select/[0-9]+(?::[0-9]+)?")
"""Where a tenant of a VictoriaMetrics cluster is. Its vmui is there, and its query API below
prometheus.
"""
_EXPRESSION: Final = "g0.expr="
"""In the query or fragment of a page, not of an API: the first graph's expression."""


def is_store_page(url: str) -> bool:
    """Whether a URL is a page of a metric store or of Grafana, as a browser's address bar has it."""
    parts = _parts(url)
    shown = _EXPRESSION in parts.query or _EXPRESSION in parts.fragment
    return shown or _PAGES.fullmatch(parts.path.rstrip("/")) is not None


def store_of_page(url: str) -> str:
    """The base URL of the store whose page this is; empty if the page is Grafana's."""
    parts = _parts(url)
    path = parts.path.rstrip("/")
    found = _PAGES.fullmatch(path)
    base = found["base"] if found is not None else path.removesuffix("/query")
    if found is not None and found["page"].startswith(("explore", "d/")):
        return ""
    if _TENANT.fullmatch(base):
        base += "/prometheus"
    return parts._replace(path=base, query="", fragment="").geturl()


def rooted(path: str) -> str:
    """Adds the leading slash that people leave out. The upstream controller adds it, too."""
    return f"/{path.lstrip('/')}" if path else ""


def join(host: str, path: str) -> str:
    return f"{host.rstrip('/')}/{path.lstrip('/')}" if path else host


def misleads_git(url: str) -> bool:
    """Whether git would start a remote helper (`ext::`), or ssh take an option (`ssh://-oProxyCommand=`)."""
    return _MISLEADS_GIT.match(url) is not None


PUSHABLE: Final = re.compile(r"(https?|ssh|file)://\S*/\S+|([\w.-]+@)?[A-Za-z0-9][\w.-]*:(?!//)\S+")
CLONABLE: Final = re.compile(rf"{PUSHABLE.pattern}|/\S+")
"""Git URLs, also as ssh writes them, and absolute paths."""
GIT_URLS: Final = "https://host/owner/repository.git, ssh://git@host/owner/repository.git or git@host:owner/repository.git"
_LINK: Final = re.compile(r"\[[^\]]*\]\((?P<link>[^()\s]+)\)|<(?P<bracketed>[^<>\s]+)>")
"""A URL as Markdown writes it."""
_DRIVE: Final = re.compile(r"[A-Za-z]:(?:\\|/(?!/))")
"""How a path on Windows begins. ssh would take the letter for a host."""


def fault_of_form(url: str) -> Mistake | None:
    """A form that no URL of a repository has, whether it is one of git, Helm or OCI."""
    if link := _LINK.fullmatch(url):
        target = link["link"] or link["bracketed"]
        return Mistake("this is a Markdown link, not a URL", f"write {target}")
    if _DRIVE.match(url):
        message = "this is a folder on Windows, which no server can reach"
        return Mistake(message, f"write {GIT_URLS}")
    if "\\" in url:
        slashes = url.replace("\\", "/")
        return Mistake("a URL has no backslash", f"write {slashes}")
    if misleads_git(url):
        message = "git would start a program for this URL, or take it for an option"
        return Mistake(message, f"write {GIT_URLS}")
    return None


def git_fault(url: str) -> Mistake | None:
    """What is wrong with the URL of a git repository; None if git can clone it."""
    if fault := fault_of_form(url):
        return fault
    if CLONABLE.fullmatch(url):
        return None
    return Mistake("Argo CD cannot clone this URL", f"write {GIT_URLS}")


def holds_credentials(url: str) -> bool:
    """Whether a URL of a repository has a password or a token in it.

    A user alone is none for ssh. For http it may be a token. Only Azure DevOps offers URLs with a
    user, which is the organisation and the first part of the path:
    https://ORGANISATION@dev.azure.com/ORGANISATION/...
    """
    parts = _parts(url)
    if parts.password is not None:
        return True
    if parts.username is None or parts.scheme not in {"http", "https"}:
        return False
    return parts.hostname != "dev.azure.com" or not parts.path.startswith(f"/{parts.username}/")


def browsed_branch(url: str) -> tuple[str, str]:
    """The URL to clone, and the branch (perhaps with a path), of a forge's page of a folder; else empty."""
    found = _BROWSED.fullmatch(url)
    if found is None or url.rstrip("/").endswith(".git"):
        return "", ""
    return f"{found[1].removesuffix('.git')}.git", found[2]


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
    ipaddress.ip_address(item)
    for item in (
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
    )
)
"""Of Alibaba, Azure, AWS and EKS, Google, and Oracle. In most clouds it is link-local:
169.254.169.254.
"""
_CARRY_IPV4: Final = tuple(map(ipaddress.IPv6Network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")))
"""Networks whose last 32 bits are the IPv4 address that is meant: the old compatible form, and
NAT64.
"""
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")


def is_in_cluster(host: str) -> bool:
    """Whether a name is one of a Service: `x.y.svc`, `x.y.svc.cluster.local`, or without a dot."""
    name = host.rstrip(".").lower()
    return _address(name) is None and (
        "." not in name or name.endswith((".svc", ".svc.cluster.local"))
    )


def is_local(host: str) -> bool:
    """Whether a host is the machine or pod that asks, such as localhost, 127.0.0.1 or 0.0.0.0."""
    name = host.rstrip(".").lower()
    address = _address(name)
    if address is None:
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def is_metadata(host: str) -> bool:
    """Whether a host is link-local or a cloud's metadata service, which gives out a machine's credentials."""
    name = host.rstrip(".").lower()
    if name in _METADATA_NAMES:
        return True
    address = _address(name)
    return address is not None and (address.is_link_local or address in _METADATA_ADDRESSES)


def may_get_credentials(host: str, *, allowed: Iterable[str], own: bool) -> bool:
    """Whether a program on the hub may send credentials of scoring.auth to a host: one that
    spec.allowedTokenHosts has, or in the cluster that of the scoring API or its token server (`own`).
    """
    if not host or is_metadata(host):
        return False
    return any(matches(host, pattern) for pattern in allowed) or (own and is_in_cluster(host))


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parses an address in any spelling that resolvers accept: 2852039166, 169.254.43518, fe80::1%eth0."""
    if ":" in name:
        try:
            return _meant(ipaddress.IPv6Address(name.partition("%")[0]))
        except ValueError:
            return None
    parts = name.split(".")
    if len(parts) > 4 or not all(map(_NUMBER.fullmatch, parts)):
        return None
    try:
        *first, last = (int(part, _base(part)) for part in parts)
        return ipaddress.IPv4Address(bytes(first) + last.to_bytes(4 - len(first)))
    except (ValueError, OverflowError):
        return None


def _base(number: str) -> int:
    return 16 if number[:2].lower() == "0x" else 8 if number.startswith("0") else 10


def _meant(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address to which a host or a NAT64 gateway sends what goes to an IPv6 address."""
    carries = any(address in network for network in _CARRY_IPV4) and int(address) > 1
    low = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if carries else None
    return address.ipv4_mapped or address.sixtofour or low or address
