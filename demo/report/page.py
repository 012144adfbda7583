"""The HTML page of the demo."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from demo.history import History
from demo.report import sections
from demo.report.figures import Figures
from gitops_dsf import __version__
from gitops_dsf.views.page.chart import NARROW, SMALL, WIDE, Chart, draw
from gitops_dsf.views.page.clock import clock
from gitops_dsf.views.page.document import document, facts, section

LEAD: Final = (
    "Every cluster is scored by its metrics; Open Cluster Management ranks the clusters by the scores, and"
    " Argo CD follows. The first score is a Query scorer, whose query is the score. Two scoring APIs follow,"
    " for what a query cannot say. How clusters are scored is YAML in git, and so is every change of it."
)
HONEST: Final = (
    "the load is synthetic, and a second stands for a minute. Real are the git repository, the agents, the"
    " scoring APIs and the rendered tree. The decisions are those of gitops-dsf's simulator of OCM's"
    " placement controller."
)


def page(history: History, tries: Sequence[str]) -> str:
    """The whole report. ``tries`` are commands to try in the folder."""
    figures = Figures(history)
    application = escape(history.application)
    moved = sum(1 for move in history.moves if move.origin)
    title = f"Where {application} ran, and why it moved"
    parts = [
        (
            f'<header><p class="eyebrow">gitops-dsf {escape(__version__)} · make demo</p><h1>{title}</h1><p'
            f' class="lead">{LEAD}</p>'
        ),
        _facts(history, figures, moved),
        "</header><main>",
        f'<div class="top">{_decision(history, figures)}{_moves(figures, moved)}{_inputs(figures)}</div>',
        _preview(history),
        _backtest(history),
        _numbers(history, figures),
        section(
            "Step by step",
            "Every command, run in the folder <code>fleet</code>, with what it said.",
            "".join(sections.steps(history)),
        ),
        section("To try", "The folder stays for exploring.", sections.tries(tries)),
        f"</main><footer><p>Metrics: {escape(history.source)}; {HONEST}</p></footer>",
    ]
    return document(f"Where {history.application} ran, and why it moved", "".join(parts))


def _facts(history: History, figures: Figures, moved: int) -> str:
    last = history.observations[-1].chosen if history.observations else ()
    began = datetime.fromtimestamp(history.start, tz=UTC)
    pairs = [
        (", ".join(last) or "nowhere", f"runs {history.application} at the end"),
        (f"{moved} move{'' if moved == 1 else 's'}", _for(figures.end)),
        (f"{len(history.clusters)} clusters", f"{len(figures.scores())} scores on each"),
        (f"{began:%H:%M} UTC", f"{began:%d %B %Y}"),
    ]
    return facts(pairs)


def _decision(history: History, figures: Figures) -> str:
    stickiness = history.observations[-1].stickiness if history.observations else 0.0
    zone = (
        "<li class='zone c5'><i></i>stickiness: what another cluster must rise above</li>"
        if stickiness
        else ""
    )
    legend = "".join(
        f'<li class="{figures.colour(name)}"><i></i>{escape(name)}</li>' for name in history.clusters
    )
    chart = figures.points()
    note = (
        "The weighted mean of a cluster's scores. The bar below the lines says where"
        f" {escape(history.application)} runs; it moves when another cluster is ahead by more than"
        f" {stickiness:g} points."
    )
    content = f'<ul class="legend">{legend}{zone}</ul>{draw(chart, WIDE)}{draw(chart, NARROW)}{sections.events(figures)}'  # noqa: E501
    return section("Points of each cluster", note, content)


def _moves(figures: Figures, moved: int) -> str:
    count = "It never moved." if not moved else f"It moved {_times(moved)}."
    return section("Who moved when, and why", count, sections.moves(figures))


def _inputs(figures: Figures) -> str:
    def figure(chart: Chart, note: str) -> str:
        return f"<div><h3>{escape(chart.heading)}</h3><p class='muted'>{note}</p>{draw(chart, SMALL)}</div>"

    names = "".join(
        f'<li class="{figures.colour(name)}"><i></i>{escape(name)}</li>' for name in figures.history.clusters
    )
    load = figure(figures.load(), "What the metrics say.")
    scores = "".join(figure(chart, "Published score; higher is better.") for chart in figures.scores())
    return section(
        "What the points are made of",
        "",
        f'<ul class="legend">{names}</ul><div class="halves">{load}{scores}</div>',
    )


def _preview(history: History) -> str:
    if not history.preview:
        return ""
    note = "The preview that CI writes as a comment, computed from the scores of that moment."
    return section(
        "What the pull request said before the merge",
        note,
        f'<pre tabindex="0">{escape(history.preview.rstrip())}</pre>',
    )


def _backtest(history: History) -> str:
    if not history.backtest:
        return ""
    note = (
        "The same raw scores, decided again: with what git said before the pull request, and with what it"
        " says now. The page is <code>backtest.html</code>."
    )
    return section(
        "What a backtest says about it",
        note,
        f'<pre tabindex="0">{escape(history.backtest.rstrip())}</pre>',
    )


def _numbers(history: History, figures: Figures) -> str:
    content = (
        f"<details><summary>Decisions</summary>{sections.decisions(figures)}</details>"
        f"<details><summary>Points, scores and CPU use</summary>{sections.numbers(history)}</details>"
    )
    return section("Numbers", "The charts as tables. The same as JSON: <code>history.json</code>.", content)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _for(seconds: float) -> str:
    return f"in {seconds:.0f} seconds" if seconds < 120 else f"in {clock(seconds)} minutes"
