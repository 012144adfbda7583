"""The configuration of one process: the summaries of its scorers, and other settings for them.

Both an agent and the hub scorer have a `Configuration`. Agents with the same scorers and the same
variants of their sources share one, and it is rendered once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dsf_wire.summary import ScorerSummary
from gitops_dsf.repository.model.agent import Agent, Egress, OpenTelemetry
from gitops_dsf.repository.model.scorer import Auth
from gitops_dsf.resolve.credentials import credentials
from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, kw_only=True, slots=True)
class Receiver:
    """The receiver for OpenTelemetry metrics of a group of clusters."""

    settings: OpenTelemetry
    history_seconds: int
    """The time that the scorers of these clusters look back, in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """A configuration that agents or the hub scorer run.

    Clusters with the same scorers and variants share one.
    """

    summaries: tuple[ScorerSummary, ...]
    """Sorted by name."""
    secrets: tuple[str, ...]
    """Secrets that the process must be able to read, sorted."""
    config_maps: tuple[str, ...]
    """ConfigMaps with private CAs, sorted."""
    egress: Egress | None = None
    """The limits on the connections of the process; None if there are none."""
    proxies: tuple[str, ...] = ()
    """URLs of the proxies that the process may use."""
    receiver: Receiver | None = None
    """The receiver beside the agent; None if no scorer asks it."""


def agent_configuration(
    scorers: Sequence[EffectiveScorer], summaries: Sequence[ScorerSummary], agent: Agent
) -> Configuration:
    """The configuration of the agents of these clusters. `summaries` are those of the scorers."""
    return Configuration(
        summaries=tuple(summaries),
        secrets=_secrets(scorers),
        config_maps=_config_maps(scorers),
        egress=_limits(agent.egress),
        proxies=() if agent.proxy is None else agent.proxy.urls,
        receiver=_receiver(scorers, agent),
    )


def hub_configuration(
    scorers: Sequence[EffectiveScorer], summaries: Sequence[ScorerSummary], egress: Egress
) -> Configuration:
    """The configuration of the hub scorer. `summaries` are those of the scorers."""
    return Configuration(
        summaries=tuple(summaries),
        secrets=_secrets(scorers),
        config_maps=_config_maps(scorers),
        egress=_limits(egress),
    )


def _limits(egress: Egress) -> Egress | None:
    if egress.mode != "Limited":
        return None
    return egress


def _secrets(scorers: Sequence[EffectiveScorer]) -> tuple[str, ...]:
    secrets: set[str] = set()
    for scorer in scorers:
        for credential in credentials(scorer.spec.source.auth, scorer.variant):
            secrets.add(credential.secret)
        for credential in credentials(scorer.spec.scoring.auth):
            secrets.add(credential.secret)
    # A credential may be without a Secret, such as the token of the pod's own account.
    secrets.discard("")
    return tuple(sorted(secrets))


def _config_maps(scorers: Sequence[EffectiveScorer]) -> tuple[str, ...]:
    config_maps: set[str] = set()
    for scorer in scorers:
        config_maps.update(_private_cas(scorer.spec.source.auth))
        config_maps.update(_private_cas(scorer.spec.scoring.auth))
    return tuple(sorted(config_maps))


def _private_cas(auth: Auth | None) -> Iterator[str]:
    """The ConfigMaps with the CAs of an endpoint and of its token server."""
    if auth is None:
        return
    if auth.ca_config_map_ref is not None:
        yield auth.ca_config_map_ref.name
    if auth.oauth2 is not None and auth.oauth2.ca_config_map_ref is not None:
        yield auth.oauth2.ca_config_map_ref.name


def _receiver(scorers: Sequence[EffectiveScorer], agent: Agent) -> Receiver | None:
    histories = [scorer.history_seconds for scorer in scorers if scorer.is_pushed]
    if not histories or agent.open_telemetry is None:
        return None
    # One receiver serves all scorers of a cluster, so it keeps the longest history.
    return Receiver(settings=agent.open_telemetry, history_seconds=max(histories))
