"""Checks where credentials of managed clusters are sent. A scorer alone must not send them to a host that was
not allowed.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.hosts import is_in_cluster, is_metadata
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.credentials import Sent, is_reserved, sent
from gitops_dsf.resolve.overlay import Overlay

_ALLOW = "add {host} to spec.allowedTokenHosts in gitops-dsf.yaml"


def secrets_are_nobody_elses(context: Context) -> Iterator[Diagnostic]:
    """The agent may read every Secret that a scorer names, and sends its content."""
    for item in context.declared.scorers:
        for section, auth in (
            ("source", item.value.spec.source.auth),
            ("scoring", item.value.spec.scoring.auth),
        ):
            ref = auth.token_secret_ref if auth is not None else None
            if ref is not None and is_reserved(ref.name):
                message = (
                    f"{section}.auth: Secret {ref.name} holds credentials for the hub or a registry, and no"
                    " scorer may send it"
                )
                position = item.at("spec", section, "auth", "tokenSecretRef", "name")
                yield codes.RESERVED_SECRET.at(
                    position, message, "make a Secret of its own for the token, and name that"
                )


def tokens_go_where_they_may(context: Context) -> Iterator[Diagnostic]:
    """Outside of the cluster, a token needs https and a host that gitops-dsf.yaml allows. Inside, cluster DNS
    decides who receives it.
    """
    repository = context.declared.repository
    allowed = repository.value.spec.allowed_token_hosts if repository is not None else []
    for overlay in context.overlays.values():
        for item in _sent(overlay):
            if is_in_cluster(item.host) or any(matches(item.host, pattern) for pattern in allowed):
                continue
            field = "tokenSecretRef" if item.secret else "serviceAccountToken"
            position = overlay.scorer.at("spec", item.section, "auth", field)
            allow = _ALLOW.format(host=item.host)
            if item.scheme != "https":
                message = f"{item.section}.auth sends {item}: everybody on the way can read it"
                yield codes.TOKEN_IN_CLEAR.at(position, message, f"write an https URL, or {allow}")
            elif not item.secret:
                message = (
                    f"{item.section}.auth sends {item}, outside of the cluster: it is good for the cluster's"
                    " API server, too"
                )
                yield codes.POD_TOKEN_OUTSIDE.at(
                    position, message, f"name a token of its own with tokenSecretRef, or {allow}"
                )
            else:
                message = (
                    f"{item.section}.auth sends {item}, a host outside of the cluster that is not allowed"
                )
                yield codes.TOKEN_OUTSIDE.at(position, message, allow)


def secrets_have_one_host(context: Context) -> Iterator[Diagnostic]:
    """If a Secret goes to several hosts, each of them can use it at the others.

    Upstream's samples share one Secret, so teams that still use the upstream controller get this finding only
    when they change delivery.mode.
    """
    if context.is_upstream:
        return
    first: dict[str, tuple[str, str]] = {}
    for overlay in context.overlays.values():
        for item in _sent(overlay):
            if not item.secret:
                continue
            host, where = first.setdefault(item.secret, (item.host, f"{overlay.scorer.name}, {item.section}"))
            if host != item.host:
                position = overlay.scorer.at("spec", item.section, "auth", "tokenSecretRef", "name")
                message = f"Secret {item.secret} goes to {item.host}, and to {host} as well ({where})"
                yield codes.SHARED_SECRET.at(position, message, "make a Secret of its own for each host")


def hosts_are_no_metadata_services(context: Context) -> Iterator[Diagnostic]:
    """A cloud's metadata service gives credentials of the node to every process there."""
    for overlay in context.overlays.values():
        scorer = overlay.scorer
        places = [(str(setting.value), setting) for setting in (overlay.source_host, overlay.scoring_host)]
        for url, setting in places:
            if url and is_metadata(_host(url)):
                yield codes.METADATA_HOST.at(setting.position, *_metadata(_host(url)))
        url = scorer.value.spec.config_url
        if is_metadata(_host(url)):
            yield codes.METADATA_HOST.at(scorer.at("spec", "configURL"), *_metadata(_host(url)))


def _metadata(host: str) -> tuple[str, str]:
    message = (
        f"{host} is a link-local address or a cloud's metadata service, which is neither a metric source nor"
        " a scoring API"
    )
    return message, "write the name of the service"


def _sent(overlay: Overlay) -> Iterator[Sent]:
    spec = overlay.scorer.value.spec
    source = overlay.source_origin if overlay.kind_of_source == "Prometheus" else ""
    return sent(source, spec.source.auth, overlay.scoring_origin, spec.scoring.auth)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
