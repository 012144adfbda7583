"""The base URLs that agents and the hub scorer call, with the credentials that each receives."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.credentials import Credential, Kind, Sent, credentials, destination
from gitops_dsf.resolve.metric_sources import Variant
from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Peer:
    """A base URL that is called, and where its credentials are written."""

    owner: str
    """Scorer or MetricSource, for messages."""
    title: str
    """The place in its document, such as `source` or `variants[0]`."""
    source: str = ""
    """The MetricSource, if it is a variant of one."""
    section: str
    url: str
    credentials: tuple[Credential, ...]
    document: Document
    path: FieldPath
    on_hub: bool = False
    """Whether the hub scorer calls it."""

    @property
    def sent(self) -> Iterator[tuple[Credential, Sent]]:
        """The credentials that it receives."""
        for credential in self.credentials:
            recipient = destination(credential, self.section, self.url)
            if recipient is not None:
                yield credential, recipient

    def title_of(self, credential: Credential) -> str:
        """The place of a credential, such as `source.auth` or `variants[0].headers[1]`."""
        return f"{self.title}.{dotted(credential.path[:-1])}"

    def at(self, *path: str | int) -> Position:
        return self.document.at((*self.path, *path))


class TokenServer(NamedTuple):
    """The URL of a token server, and where it is written."""

    url: str
    title: str
    position: Callable[[], Position]
    """Computed when asked for, because that parses the document again."""


def peers_of(scorers: Mapping[str, EffectiveScorer], variants: Iterable[Variant]) -> Iterator[Peer]:
    """Every base URL: those of scorers, and those of the variants of each MetricSource."""
    for scorer in scorers.values():
        if scorer.spec.source.ref is None:
            yield _source_of(scorer)
        yield Peer(
            owner=scorer.name,
            title="scoring",
            section="scoring",
            url=scorer.scoring_origin,
            credentials=tuple(credentials(scorer.spec.scoring.auth)),
            document=scorer.declared.document,
            path=("spec", "scoring"),
            on_hub=scorer.spec.on_hub,
        )
    # One scorer on the hub is enough for its source to be asked from there.
    on_hub = {scorer.spec.source.ref for scorer in scorers.values() if scorer.spec.on_hub}
    for variant in variants:
        yield Peer(
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


def token_servers(peers: Iterable[Peer]) -> Iterator[TokenServer]:
    """The token server of each OAuth2 client."""
    for peer in peers:
        for credential in peer.credentials:
            if credential.kind is Kind.CLIENT_SECRET:
                path = (*credential.path[:-1], "tokenURL")
                title = f"{peer.title}.{dotted(path)}"
                yield TokenServer(credential.url, title, partial(peer.at, *path))


def _source_of(scorer: EffectiveScorer) -> Peer:
    # The agent sends credentials to a Prometheus only: the API server of its cluster knows its pod.
    return Peer(
        owner=scorer.name,
        title="source",
        section="source",
        url=scorer.source_origin if scorer.source_type == "Prometheus" else "",
        credentials=tuple(credentials(scorer.spec.source.auth)),
        document=scorer.declared.document,
        path=("spec", "source"),
        on_hub=scorer.spec.on_hub,
    )
