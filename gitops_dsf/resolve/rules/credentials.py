"""Checks where credentials of managed clusters are sent. A scorer alone must not send them to a host that was
not allowed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.urls import host_of, is_in_cluster, is_metadata
from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.credentials import (
    Credential,
    Kind,
    Sent,
    credentials,
    destination,
    is_reserved,
    sent_by_hub,
)
from gitops_dsf.resolve.rules.registry import SETTINGS, rule

_ALLOW = "add {host} to spec.allowedTokenHosts in gitops-dsf.yaml"


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class _Peer:
    """A base URL that agents call, and where its credentials are written."""

    owner: str
    """Scorer or MetricSource, for messages."""
    title: str
    """Where in its document, such as `source` or `variants[0]`."""
    source: str = ""
    """The MetricSource, if it is a variant of one."""
    section: str
    url: str
    credentials: tuple[Credential, ...]
    document: Document
    path: Path
    on_hub: bool = False
    """Whether the hub scorer calls it."""

    @property
    def sent(self) -> Iterator[tuple[Credential, Sent]]:
        """The credentials that it receives."""
        for item in self.credentials:
            if (found := destination(item, self.section, self.url)) is not None:
                yield item, found

    def title_of(self, item: Credential) -> str:
        """Where a credential is written, such as `source.auth` or `variants[0].headers[1]`."""
        return f"{self.title}.{dotted(item.path[:-1])}"

    def at(self, *path: str | int) -> Position:
        return self.document.at((*self.path, *path))


def _peers(context: Context) -> Iterator[_Peer]:
    """Every base URL: those of scorers, and those of the variants of each MetricSource."""
    for scorer in context.scorers.values():
        spec, document = scorer.spec, scorer.declared.document
        asked = scorer.source_origin if scorer.source_type == "Prometheus" else ""
        for section, url, auth in (
            ("source", asked, spec.source.auth),
            ("scoring", scorer.scoring_origin, spec.scoring.auth),
        ):
            if section == "scoring" or spec.source.ref is None:
                yield _Peer(
                    owner=scorer.name,
                    title=section,
                    section=section,
                    url=url,
                    credentials=tuple(credentials(auth)),
                    document=document,
                    path=("spec", section),
                    on_hub=spec.on_hub,
                )
    on_hub = {scorer.spec.source.ref for scorer in context.scorers.values() if scorer.spec.on_hub}
    for variant in context.source_variants:
        yield _Peer(
            owner=f"MetricSource {variant.source.name}",
            title=dotted(variant.path[1:]),
            source=variant.source.name,
            section="source",
            url=variant.value.host,
            credentials=tuple(credentials(variant.value.auth, variant.value)),
            document=variant.source.document,
            path=variant.path,
            on_hub=variant.source.name in on_hub,
        )


@rule()
def secrets_are_nobody_elses(context: Context) -> Iterator[Diagnostic]:
    """The agent and the hub scorer may read every Secret that their scorers or MetricSources name, and send
    its content. The hub's namespace has Secrets of other programs, so there gitops-dsf.yaml lists those that
    may be used.
    """
    known, spec = context.declared.repository is not None, context.settings
    listed, pulling = spec.hub_scorer.secrets, _pull_secrets(spec)
    for peer in _peers(context):
        for item in peer.credentials:
            what = f"{peer.title_of(item)}: Secret {item.secret}"
            if item.kind is Kind.ACCESS_TOKEN:
                continue  # its Secret is that of the client
            if is_reserved(item.secret) or item.secret in pulling[peer.on_hub]:
                message = f"{what} holds credentials for {_owner(item.secret, spec)}, and no scorer may send it"
                hint = f"make a Secret of its own for the {item.kind}, and name that"
            elif peer.on_hub and item.secret and known and item.secret not in listed:
                message = f"{what} of the hub is not one that scorers may use there"
                hint = f"add {item.secret} to spec.hubScorer.secrets in gitops-dsf.yaml"
            else:
                continue
            yield codes.RESERVED_SECRET.at(peer.at(*item.path, "name"), message, hint)


def _owner(secret: str, spec: FleetRepositorySpec) -> str:
    """What a Secret that no scorer may send is for."""
    git = spec.reconciler.git_secret
    return "git" if git is not None and git.name == secret else "the hub or a registry"


def _pull_secrets(spec: FleetRepositorySpec) -> Mapping[bool, set[str]]:
    """Secrets for registries and git, by whether they are on the hub."""
    git = spec.reconciler.git_secret
    hub = {*spec.hub_scorer.image_pull_secrets, *spec.reconciler.image_pull_secrets}
    some = (name for entry in spec.agent.rollout for name in entry.image_pull_secrets or ())
    return {
        True: hub | ({git.name} if git else set()),
        False: {*spec.agent.image_pull_secrets, *some},
    }


@rule(needs=(SETTINGS,))
def pages_get_no_secret_of_others(context: Context) -> Iterator[Diagnostic]:
    """The reconciler sends to /config pages what a scorer names, if gitops-dsf.yaml lists it."""
    spec, path = context.settings, ("spec", "reconciler", "configCredentials")
    for index, name in enumerate(spec.reconciler.config_credentials):
        if is_reserved(name) or name in _pull_secrets(spec)[True]:
            message = f"Secret {name} holds credentials for {_owner(name, spec)}, and any scorer could name it"
            hint = "make a Secret of its own for the pages, and list that"
            yield codes.RESERVED_SECRET.at(context.repository.at(*path, index), message, hint)


@rule(needs=("FleetRepository",))
def pages_get_what_they_may(context: Context) -> Iterator[Diagnostic]:
    """A configURL may have another host than the scoring API."""
    for scorer in context.scorers.values():
        api = host_of(scorer.scoring_origin)
        for item, may in sent_by_hub(scorer, context.settings):
            own = item.kind is Kind.CLIENT_SECRET or item.host == api
            if not may and not is_metadata(item.host) and not own:
                why = "the scoring API is at another host, and nobody allowed this one"
                message = f"the reconciler sends {item.host} no credentials of scoring.auth: {why}"
                position = scorer.declared.at("spec", "configURL")
                yield codes.TOKEN_OUTSIDE.at(position, message, _ALLOW.format(host=item.host))
                break


@rule(needs=("FleetRepository",))
def tokens_go_where_they_may(context: Context) -> Iterator[Diagnostic]:
    """Outside of the cluster, a credential needs https and a host that gitops-dsf.yaml allows. Inside,
    cluster DNS decides who receives it.
    """
    allowed = context.settings.allowed_token_hosts
    for peer in _peers(context):
        for credential, item in peer.sent:
            if is_in_cluster(item.host) or any(matches(item.host, pattern) for pattern in allowed):
                continue
            title, position = peer.title_of(credential), peer.at(*credential.path)
            allow = _ALLOW.format(host=item.host)
            if item.scheme != "https":
                if item.kind.is_received:
                    message = f"{title} sends {item}: everybody on the way can read it"
                    yield codes.TOKEN_IN_CLEAR.at(
                        position, message, f"write an https URL, or {allow}"
                    )
            elif not item.secret:
                why = "it is good for the cluster's API server, too"
                message = f"{title} sends {item}, outside of the cluster: {why}"
                hint = f"name a token of its own with tokenSecretRef, or {allow}"
                yield codes.POD_TOKEN_OUTSIDE.at(position, message, hint)
            else:
                message = f"{title} sends {item}, a host outside of the cluster that is not allowed"
                yield codes.TOKEN_OUTSIDE.at(position, message, allow)


@rule(needs=("FleetRepository",))
def secrets_have_one_host(context: Context) -> Iterator[Diagnostic]:
    """If a Secret goes to several hosts, each of them can use it at the others.

    A cluster uses one variant of a MetricSource, and a Secret of the same name on another cluster is another
    Secret, so variants are not compared with each other.

    Upstream's samples share one Secret, so teams that still use the upstream controller get this finding only
    when they change delivery.mode.
    """
    if context.is_upstream:
        return
    known: dict[tuple[str, str], dict[str, tuple[_Peer, str]]] = {}
    for peer in _peers(context):
        for credential, item in peer.sent:
            if not item.secret or not item.kind.is_received:
                continue
            firsts = known.setdefault((item.secret, credential.grant), {})
            firsts.setdefault(peer.source, (peer, item.host))
            others = (
                first for source, first in firsts.items() if not source or source != peer.source
            )
            other, host = next(others, (peer, item.host))
            if host != item.host:
                what = f"Secret {item.secret} goes"
                hint = "make a Secret of its own for each host"
                if item.kind is Kind.ACCESS_TOKEN:
                    what = f"the same access token of the client in Secret {item.secret} goes"
                    hint = "write an audience or a client of its own for each host"
                message = (
                    f"{what} to {item.host}, and to {host} as well ({other.owner}, {other.title})"
                )
                yield codes.SHARED_SECRET.at(peer.at(*credential.path, "name"), message, hint)


@rule()
def certificates_are_shown(context: Context) -> Iterator[Diagnostic]:
    """A client certificate is part of TLS."""
    for peer in _peers(context):
        for credential, item in peer.sent:
            if item.kind is Kind.CERTIFICATE and item.scheme == "http":
                message = f"{peer.title} has a client certificate, and its host has no https"
                position = peer.document.key_at((*peer.path, *credential.path))
                hint = f"write an https URL, or remove {credential.path[-1]}"
                yield codes.CERTIFICATE_WITHOUT_TLS.at(position, message, hint)


def token_servers(context: Context) -> Iterator[tuple[str, str, Callable[[], Position]]]:
    """The URL of each token server, its title, and its position."""
    for peer in _peers(context):
        for item in peer.credentials:
            if item.kind is Kind.CLIENT_SECRET:
                path = (*item.path[:-1], "tokenURL")
                yield item.url, f"{peer.title}.{dotted(path)}", partial(peer.at, *path)


@rule()
def hosts_are_no_metadata_services(context: Context) -> Iterator[Diagnostic]:
    """A cloud's metadata service gives credentials of the node to every process there."""
    for url, position in _called(context):
        if is_metadata(host_of(url)):
            other = "which is no metric source, scoring API or token server"
            message = (
                f"{host_of(url)} is a link-local address or a cloud's metadata service, {other}"
            )
            yield codes.METADATA_HOST.at(position(), message, "write the name of the service")


def _called(context: Context) -> Iterator[tuple[str, Callable[[], Position]]]:
    """Every URL that is called, and where it is written, which is slow to find."""
    for scorer in context.scorers.values():
        yield scorer.spec.source.host, partial(scorer.at, "source.host")
        yield scorer.spec.scoring.host, partial(scorer.at, "scoring.host")
        yield scorer.spec.config_url, partial(scorer.declared.at, "spec", "configURL")
    for variant in context.source_variants:
        yield variant.value.host, partial(variant.source.at, *variant.path, "host")
    for url, _, position in token_servers(context):
        yield url, position
