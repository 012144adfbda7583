"""Access to a metric store for `backtest`, `diff` and `scorer try`: its URL and credentials.

A message never holds a secret: a URL may have a password, and the value of a header may be a token.
"""

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING, NamedTuple

from dsf_wire.headers import is_header_name
from dsf_wire.secrettext import SecretFault, header_secret
from dsf_wire.weburl import is_web_url
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.urls.parts import origin
from gitops_dsf.urls.store_pages import is_store_page, store_of_page

if TYPE_CHECKING:
    from gitops_dsf.hub.scorers import Auth
    from gitops_dsf.metricstore.client import OpenStore


class StoreAccess(NamedTuple):
    """The credentials and headers for a store."""

    token: Callable[[], Awaitable[str]]
    """The token of a request; empty without one. Asked for each request, because it may expire."""
    trust: SSLContext | None
    """None for the CAs of the system."""


def check_store_url(url: str) -> None:
    """Raises UsageError if this is not the URL of a store."""
    # The message has no URL, because one that cannot be parsed may hold a password anywhere.
    if not is_web_url(url):
        raise UsageError(
            "--prometheus is not an http or https URL with a valid port; write a URL such as"
            " https://prometheus.example.com"
        )
    if is_store_page(url):
        from dsf_runtime.calls import display

        base = display(store_of_page(url))
        if base:
            raise UsageError(
                f"--prometheus {display(url)} is a page for people, and no API; write {base}"
            )
        raise UsageError(
            f"--prometheus {display(url)} is a page for people, and no API; write the URL of the"
            " metric store, such as https://prometheus.example.com"
        )


def headers(written: Sequence[str]) -> dict[str, str]:
    """The headers of --header NAME:VALUE. Raises UsageError."""
    values: dict[str, str] = {}
    for text in written:
        name, colon, value = text.partition(":")
        name = name.strip()
        if not colon:
            raise UsageError("one --header is not NAME:VALUE; write it as X-Scope-OrgID:team")
        if not is_header_name(name):
            raise UsageError(
                f"--header {name!r} is not the name of a header; write it as X-Scope-OrgID:team"
            )
        try:
            values[name] = header_secret(value)
        except SecretFault as fault:
            # The cause is left out, because its frames hold the value.
            raise UsageError(f"--header {name}: the value {fault}") from None
    return values


def trusted(base: CheckedFleet | None, head: CheckedFleet) -> CheckedFleet:
    """The revision that decides which hosts see the credentials of --credentials.

    Where two revisions are compared it is the base: whoever may write a pull request must not
    choose a host that sees a token.
    """
    return head if base is None else base


@asynccontextmanager
async def open_store(args: argparse.Namespace, fleet: CheckedFleet) -> "AsyncIterator[OpenStore]":
    """The store of --prometheus, with what it wants to see. Raises UsageError.

    `fleet` says which hosts may see the credentials of --credentials (`trusted`).
    """
    try:
        from gitops_dsf.metricstore.client import OpenStore
    except ModuleNotFoundError as error:
        raise GitopsDsfError(
            f"{error.name} is not installed; a store needs the extra backtest"
            " (docs/start/install.md)"
        ) from error
    async with (
        store_access(args, fleet) as access,
        OpenStore(
            args.prometheus,
            token=access.token,
            headers=headers(args.header),
            trust=access.trust,
        ) as store,
    ):
        yield store


@asynccontextmanager
async def store_access(args: argparse.Namespace, fleet: CheckedFleet) -> AsyncIterator[StoreAccess]:
    """Access by --token-file and --credentials. Raises UsageError.

    With both, the token is that of --token-file, and the rest is that of the credentials. `fleet`
    says which hosts may see them (`trusted`).
    """
    token = "" if args.token_file is None else read_token(args.token_file)
    if args.credentials is None:

        async def same_token() -> str:
            return token

        yield StoreAccess(same_token, None)
        return
    if not args.credentials.is_dir():
        raise UsageError(f"--credentials {args.credentials}: there is no such folder")
    from dsf_runtime.calls import display
    from gitops_dsf.metricstore.errors import StoreError
    from gitops_dsf.sync.fetch import Fetcher
    from gitops_dsf.sync.requests import page_request

    url = args.prometheus
    auth = _auth_of_store(url, fleet)
    if auth is None:
        raise UsageError(
            f"--credentials: no source at {display(url)} names a Secret or a CA in the repository"
        )
    # The rules are those of `sync`. With the store itself as the scoring API, one in the cluster
    # gets the credentials as a scoring API there does, and one outside needs allowedTokenHosts.
    request = page_request(
        url,
        auth=auth,
        scoring_url=url,
        allowed=fleet.repository.spec.allowed_token_hosts,
        title="--prometheus",
        section="source.auth",
    )
    async with Fetcher(secrets=args.credentials) as fetcher:

        async def renewed_token() -> str:
            credentials = await fetcher.credentials.shown(request)
            # Asked without them, the store would answer 401, which says less than the problem.
            if (auth.secrets and credentials.problem) or credentials.lacks_tls:
                raise StoreError(f"{display(url)} is not asked: {credentials.problem}")
            return token or credentials.token

        # CAs are read once for the connection, the token again for each request.
        yield StoreAccess(renewed_token, (await fetcher.credentials.shown(request)).trust)


def _auth_of_store(url: str, fleet: CheckedFleet) -> "Auth | None":
    """The auth of the first source at a store that names a Secret or a CA; None if none does."""
    from gitops_dsf.sync.requests import on_hub

    for scorer in fleet.scorers:
        for variant in fleet.by_variant[scorer.name]:
            # Scheme, host and port: a Secret belongs to a server, whatever the path of the URL is.
            if origin(variant.source_origin) != origin(url):
                continue
            auth = on_hub(variant.spec.source.auth)
            if auth is not None and (auth.secrets or auth.ca_config_map_ref):
                return auth
    return None


def read_token(path: Path) -> str:
    """The token of --token-file. Raises UsageError."""
    try:
        return header_secret(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--token-file {path} cannot be read: {error.strerror}") from error
    except SecretFault as fault:
        # The cause is left out here, too.
        raise UsageError(
            f"--token-file {path} {fault}; it must hold the token alone, on one line"
        ) from None
