"""Requests to a scoring API: the URL of a page, and the credentials that go with it."""

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from gitops_dsf.hub.scorers import Auth
from gitops_dsf.repository.model import scorer as model
from gitops_dsf.urls.hosts import may_get_credentials
from gitops_dsf.urls.parts import host_of


class PageRequest(NamedTuple):
    """One page. Two scorers with equal requests share one."""

    url: str
    auth: Auth | None = None
    """The credentials to send, their place, and the CA that is trusted."""
    problem: str = "scoring.auth names no Secret"
    """The reason why no credentials are sent, if `auth` names none."""
    section: str = "scoring.auth"
    """The field that names the credentials."""


def on_hub(auth: model.Auth | None) -> Auth | None:
    """The document that people wrote, as the hub has it."""
    if auth is None:
        return None
    return msgspec.convert(auth.model_dump(mode="json", exclude_none=True), Auth)


def page_request(
    url: str,
    *,
    auth: Auth | None,
    scoring_url: str,
    allowed: Collection[str],
    title: str = "configURL",
    section: str = "scoring.auth",
) -> PageRequest:
    """The request for a page at configURL.

    Its host gets credentials only if `allowed`, which is spec.allowedTokenHosts, has it, or if it
    is the scoring API's in the cluster. The rules of `validate` say the same of a repository, but
    `sync` asks before they run, and the reconciler asks for scorers that no repository has.
    """
    no_secret = f"{section} names no Secret"
    if auth is None:
        return PageRequest(url, problem=no_secret, section=section)
    ca_alone = None
    if auth.ca_config_map_ref is not None:
        ca_alone = Auth(ca_config_map_ref=auth.ca_config_map_ref)
    # A CA is not a secret: it is trusted whatever the host is.
    if not auth.secrets:
        return PageRequest(url, ca_alone, problem=no_secret, section=section)
    places = [(title, url)]
    if auth.oauth2 is not None:
        places.append(("tokenURL", auth.oauth2.token_url))
    # A token server gets the client's secret, so its host is checked like that of the page.
    for field, target in places:
        host = host_of(target)
        own = field == "tokenURL" or host == host_of(scoring_url)
        if not may_get_credentials(host, allowed=allowed, own=own):
            return PageRequest(
                url,
                ca_alone,
                problem=f"{field} has a host that may not get the credentials of {section}; add"
                f" {host} to spec.allowedTokenHosts in gitops-dsf.yaml",
                section=section,
            )
    return PageRequest(url, auth, section=section)
