"""The table of scorers on the page of a fleet."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.hub.times import age_text
from gitops_dsf.show.pages.heatmap import MARKS
from gitops_dsf.show.pages.sourceplace import SourcePlace
from gitops_dsf.show.status.scorers import config_text, health_text
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import names_text, plural


class ScorerRow(NamedTuple):
    name: str
    source: SourcePlace | None
    health: str
    kind: str
    notes: Sequence[str]
    host: str
    fresh: str
    others: str
    lowest: int | None
    median: int | None
    highest: int | None
    oldest: str
    oldest_seconds: int | None


def scorer_row(view: ScorerView, sources: Mapping[tuple[str, str], SourcePlace]) -> ScorerRow:
    scorer = view.scorer
    others: list[str] = []
    for state, mark in MARKS.items():
        if state is not ScoreState.FRESH and view.counts[state]:
            others.append(f"{view.counts[state]} {mark.name}")
    if view.unexpected:
        others.append(f"{len(view.unexpected)} unexpected")
    notes: list[str] = []
    config = config_text(view)
    # Only what a person may want to change: most scorers have no /config, or one that is accepted.
    if config not in {"-", "Synced"}:
        notes.append(f"/config: {config}")
    if view.at_default:
        notes.append(f"{plural(view.at_default, 'score')} at defaultScore")
    return ScorerRow(
        name=scorer.name,
        source=sources.get(("DynamicScorer", scorer.name)),
        health=health_text(view),
        kind=_health_kind(view),
        notes=notes,
        host=_asks(view),
        fresh=str(view.counts[ScoreState.FRESH]) if view.known else "?",
        others=", ".join(others) if view.known else "not known",
        lowest=view.values.lowest,
        median=view.values.median,
        highest=view.values.highest,
        oldest="" if view.oldest is None else age_text(view.oldest),
        oldest_seconds=None if view.oldest is None else round(view.oldest),
    )


def _health_kind(view: ScorerView) -> str:
    if view.scorer.health == "Inactive":
        return "bad"
    if view.scorer.health == "Unknown" or view.suspended:
        return "warn"
    return "good" if view.scorer.health else ""


def _asks(view: ScorerView) -> str:
    """The hosts of its source and of its scoring API, and from where it asks them."""
    hosts: list[str] = []
    for endpoint in (view.scorer.spec.source, view.scorer.spec.scoring):
        if endpoint.host:
            # A URL of an object on the hub may hold a password, which no page shows.
            hosts.append(urlsplit(endpoint.host).netloc.rpartition("@")[2] or endpoint.host)
        elif endpoint.ref:
            hosts.append(f"source {endpoint.ref}")
    runner = "the hub" if view.scorer.on_hub else "each cluster"
    # Source and scoring API are often one server.
    names = names_text(dict.fromkeys(hosts))
    return f"{names}, from {runner}" if names else f"on {runner}"
