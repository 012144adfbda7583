"""Checks where credentials of managed clusters are sent.

A scorer alone must not send them to a host that is not allowed: the author of a scorer writes
hosts, and the owners of gitops-dsf.yaml allow them.

The credentials of scorers, MetricSources, /config pages, remoteWrite and metricStore are judged.
Not guaranteed: that a host is trustworthy, or that a Secret has the expected content; nothing here
reads Secrets or looks up names.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.globs import matches
from gitops_dsf.repository.load import FieldPath
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
from gitops_dsf.resolve.peers import Peer, token_servers
from gitops_dsf.resolve.rules.registry import SETTINGS, rule
from gitops_dsf.urls.hosts import is_in_cluster, is_metadata, may_get_credentials
from gitops_dsf.urls.parts import host_of


@rule()
def secrets_are_nobody_elses(context: Context) -> Iterator[Diagnostic]:
    """Scorers must not send Secrets of OCM, of registries or of other programs on the hub.

    The agent and the hub scorer may read every Secret that their scorers or MetricSources name, and
    send its content. The hub's namespace has Secrets of other programs, so there gitops-dsf.yaml
    lists those that may be used.
    """
    spec = context.settings
    settings_are_known = context.declared.repository is not None
    pull_secrets = _pull_secrets(spec)
    for peer in context.peers:
        for credential in peer.credentials:
            secret = credential.secret
            position = partial(peer.at, *credential.path, "name")
            title = peer.title_of(credential)
            if credential.kind is Kind.ACCESS_TOKEN:
                continue  # its Secret is that of the client
            # The kubeconfig with which the agent writes scores lies beside the Secrets of scorers.
            # Whoever wrote a scorer could have it sent to a host of theirs.
            if is_reserved(secret) or secret in pull_secrets[peer.on_hub]:
                yield codes.RESERVED_SECRET.at(
                    position(),
                    f"{title}: Secret {secret} holds credentials for {_owner(secret, spec)}, and no"
                    " scorer may send it",
                    f"make a Secret of its own for the {credential.kind}, and name that",
                )
            elif (
                peer.on_hub
                and secret
                and settings_are_known
                and secret not in spec.hub_scorer.secrets
            ):
                yield codes.RESERVED_SECRET.at(
                    position(),
                    f"{title}: Secret {secret} of the hub is not one that scorers may use there",
                    f"add {secret} to spec.hubScorer.secrets in gitops-dsf.yaml",
                )


@rule(needs=(SETTINGS,))
def pages_get_no_secret_of_others(context: Context) -> Iterator[Diagnostic]:
    """The reconciler sends to /config pages what a scorer names, if gitops-dsf.yaml lists it."""
    spec = context.settings
    for index, secret in enumerate(spec.reconciler.config_credentials):
        if is_reserved(secret) or secret in _pull_secrets(spec)[True]:
            yield codes.RESERVED_SECRET.at(
                context.repository.at("spec", "reconciler", "configCredentials", index),
                f"Secret {secret} holds credentials for {_owner(secret, spec)}, and any scorer"
                " could name it",
                "make a Secret of its own for the pages, and list that",
            )


@rule(needs=(SETTINGS,))
def the_store_gets_what_it_may(context: Context) -> Iterator[Diagnostic]:
    """The reconciler sends a metric store what metricStore.auth names, if its host is allowed."""
    spec = context.settings
    store = spec.reconciler.metric_store
    if store is None or store.auth is None:
        return
    path = ("spec", "reconciler", "metricStore", "auth")
    for credential in credentials(store.auth):
        yield from _of_others(context, credential.secret, path, on_hub=True)
        recipient = destination(credential, "metricStore", store.host)
        if recipient is None or recipient.kind is Kind.CERTIFICATE or is_metadata(recipient.host):
            continue
        allowed = spec.allowed_token_hosts
        if not may_get_credentials(recipient.host, allowed=allowed, own=True):
            yield codes.TOKEN_OUTSIDE.at(
                context.repository.at(*path),
                f"the reconciler sends {recipient.host} no credentials of metricStore.auth, because"
                " the host is outside the cluster and not allowed",
                f"add {recipient.host} to spec.allowedTokenHosts in gitops-dsf.yaml",
            )
            # The reconciler sends nothing unless all hosts may get it, so one finding is enough.
            break


@rule(needs=(SETTINGS,))
def remote_write_gets_what_it_may(context: Context) -> Iterator[Diagnostic]:
    """Managed clusters send a store what remoteWrite.auth names, if its host is allowed."""
    spec = context.settings
    writing = spec.agent.remote_write
    if writing is None or writing.auth is None:
        return
    path = ("spec", "agent", "remoteWrite", "auth")
    for credential in credentials(writing.auth):
        yield from _of_others(context, credential.secret, path, on_hub=False)
        recipient = destination(credential, "remoteWrite", writing.url)
        if recipient is None or not recipient.kind.is_received or is_metadata(recipient.host):
            continue
        allowed = spec.allowed_token_hosts
        if may_get_credentials(recipient.host, allowed=allowed, own=True):
            continue
        if recipient.scheme != "https":
            yield codes.TOKEN_IN_CLEAR.at(
                context.repository.at(*path),
                f"remoteWrite sends {recipient}: anyone on the network path can read it",
                f"write an https URL, or add {recipient.host} to spec.allowedTokenHosts in"
                " gitops-dsf.yaml",
            )
        else:
            yield codes.TOKEN_OUTSIDE.at(
                context.repository.at(*path),
                f"remoteWrite sends {recipient.host} {recipient.what}, and the host is outside"
                " the cluster and not allowed",
                f"add {recipient.host} to spec.allowedTokenHosts in gitops-dsf.yaml",
            )


@rule(needs=("FleetRepository",))
def pages_get_what_they_may(context: Context) -> Iterator[Diagnostic]:
    """A configURL may have another host than the scoring API."""
    for scorer in context.scorers.values():
        api_host = host_of(scorer.scoring_origin)
        for recipient, is_permitted in sent_by_hub(scorer, context.settings):
            # The hosts of the scoring API and of its token server are judged as those of agents.
            is_own = recipient.kind is Kind.CLIENT_SECRET or recipient.host == api_host
            if is_permitted or is_metadata(recipient.host) or is_own:
                continue
            yield codes.TOKEN_OUTSIDE.at(
                scorer.declared.at("spec", "configURL"),
                f"the reconciler sends {recipient.host} no credentials of scoring.auth: the scoring"
                " API is at another host, and this one is not allowed",
                f"add {recipient.host} to spec.allowedTokenHosts in gitops-dsf.yaml",
            )
            # The reconciler sends nothing unless all hosts may get it, so one finding is enough.
            break


@rule(needs=("FleetRepository",))
def tokens_go_where_they_may(context: Context) -> Iterator[Diagnostic]:
    """Outside the cluster, a credential needs https and a host that gitops-dsf.yaml allows.

    Inside, cluster DNS decides who receives it.
    """
    allowed = context.settings.allowed_token_hosts
    for peer in context.peers:
        for credential, recipient in peer.sent:
            is_allowed = any(matches(recipient.host, pattern) for pattern in allowed)
            if not is_in_cluster(recipient.host) and not is_allowed:
                yield from _outside(peer, credential, recipient)


@rule(needs=("FleetRepository",))
def secrets_have_one_host(context: Context) -> Iterator[Diagnostic]:
    """If a Secret goes to several hosts, each of them can use it at the others.

    A cluster uses one variant of a MetricSource, and a Secret of the same name on another cluster
    is another Secret, so variants are not compared with each other.

    Upstream's samples share one Secret, so teams that still use the upstream controller get this
    finding only when they change delivery.mode.
    """
    if context.is_upstream:
        return
    first_peers: dict[tuple[str, str], dict[str, tuple[Peer, str]]] = {}
    for peer in context.peers:
        for credential, recipient in peer.sent:
            if not recipient.secret or not recipient.kind.is_received:
                continue
            by_source = first_peers.setdefault((recipient.secret, credential.grant), {})
            by_source.setdefault(peer.source, (peer, recipient.host))
            for source, (other, host) in by_source.items():
                if not source or source != peer.source:
                    if host != recipient.host:
                        yield _several_hosts(peer, credential, recipient, other, host)
                    # One finding for each place: with three hosts there would be one for each pair.
                    break


@rule()
def certificates_are_shown(context: Context) -> Iterator[Diagnostic]:
    """A client certificate is part of TLS."""
    for peer in context.peers:
        for credential, recipient in peer.sent:
            if recipient.kind is Kind.CERTIFICATE and recipient.scheme == "http":
                yield codes.CERTIFICATE_WITHOUT_TLS.at(
                    peer.document.key_at((*peer.path, *credential.path)),
                    f"{peer.title} has a client certificate, and its host has no https",
                    f"write an https URL, or remove {credential.path[-1]}",
                )


@rule()
def hosts_are_no_metadata_services(context: Context) -> Iterator[Diagnostic]:
    """A cloud's metadata service gives credentials of the node to every process there."""
    for url, position in _called(context):
        host = host_of(url)
        if is_metadata(host):
            yield codes.METADATA_HOST.at(
                position(),
                f"{host} is a link-local address or a cloud's metadata service, not a metric"
                " source, a scoring API or a token server",
                "write the name of the service",
            )


def _owner(secret: str, spec: FleetRepositorySpec) -> str:
    """The purpose of a Secret that no scorer may send."""
    git = spec.reconciler.git_secret
    return "git" if git is not None and git.name == secret else "the hub or a registry"


def _pull_secrets(spec: FleetRepositorySpec) -> Mapping[bool, set[str]]:
    """Secrets for registries and git, by whether they are on the hub."""
    on_hub = {*spec.hub_scorer.image_pull_secrets, *spec.reconciler.image_pull_secrets}
    if spec.reconciler.git_secret is not None:
        on_hub.add(spec.reconciler.git_secret.name)
    on_spokes = set(spec.agent.image_pull_secrets)
    for entry in spec.agent.rollout:
        on_spokes.update(entry.image_pull_secrets or ())
    return {True: on_hub, False: on_spokes}


def _of_others(
    context: Context, secret: str, path: FieldPath, *, on_hub: bool
) -> Iterator[Diagnostic]:
    """The finding about a Secret for others in the auth of a store, which is at this path."""
    spec = context.settings
    if is_reserved(secret) or secret in _pull_secrets(spec)[on_hub]:
        yield codes.RESERVED_SECRET.at(
            context.repository.at(*path),
            f"{path[-2]}.auth: Secret {secret} holds credentials for {_owner(secret, spec)}",
            "make a Secret of its own for the store, and name that",
        )


def _outside(peer: Peer, credential: Credential, place: Sent) -> Iterator[Diagnostic]:
    """The finding about a credential for a host outside the cluster that is not allowed."""
    title = peer.title_of(credential)
    position = peer.at(*credential.path)
    if place.scheme != "https":
        # The private key of a certificate is never sent, and TLS is missing, which another rule
        # reports.
        if place.kind.is_received:
            yield codes.TOKEN_IN_CLEAR.at(
                position,
                f"{title} sends {place}: anyone on the network path can read it",
                f"write an https URL, or add {place.host} to spec.allowedTokenHosts in"
                " gitops-dsf.yaml",
            )
    elif not place.secret:
        yield codes.POD_TOKEN_OUTSIDE.at(
            position,
            f"{title} sends {place}, outside the cluster: this token is also valid for the"
            " cluster's API server",
            f"name a token of its own with tokenSecretRef, or add {place.host} to"
            " spec.allowedTokenHosts in gitops-dsf.yaml",
        )
    else:
        yield codes.TOKEN_OUTSIDE.at(
            position,
            f"{title} sends {place}, a host outside the cluster that is not allowed",
            f"add {place.host} to spec.allowedTokenHosts in gitops-dsf.yaml",
        )


def _several_hosts(
    peer: Peer, credential: Credential, place: Sent, other: Peer, other_host: str
) -> Diagnostic:
    position = peer.at(*credential.path, "name")
    if place.kind is Kind.ACCESS_TOKEN:
        return codes.SHARED_SECRET.at(
            position,
            f"the same access token of the client in Secret {place.secret} goes to {place.host},"
            f" and to {other_host} as well ({other.owner}, {other.title})",
            "write an audience or a client of its own for each host",
        )
    return codes.SHARED_SECRET.at(
        position,
        f"Secret {place.secret} goes to {place.host}, and to {other_host} as well ({other.owner},"
        f" {other.title})",
        "make a Secret of its own for each host",
    )


def _called(context: Context) -> Iterator[tuple[str, Callable[[], Position]]]:
    """Every URL that is called, and where it is written, which is slow to find."""
    for scorer in context.scorers.values():
        yield scorer.spec.source.host, partial(scorer.at, "source.host")
        yield scorer.spec.scoring.host, partial(scorer.at, "scoring.host")
        yield scorer.spec.config_url, partial(scorer.declared.at, "spec", "configURL")
    for variant in context.source_variants:
        yield variant.value.host, partial(variant.source.at, *variant.path, "host")
    for server in token_servers(context.peers):
        yield server.url, server.position
    store = context.settings.reconciler.metric_store
    if store is not None:
        field = ("spec", "reconciler", "metricStore", "host")
        yield store.host, partial(context.repository.at, *field)
    writing = context.settings.agent.remote_write
    if writing is not None:
        field = ("spec", "agent", "remoteWrite", "url")
        yield writing.url, partial(context.repository.at, *field)
