"""A backtest as a page: the scores of clusters over time, where each Placement ran, and the advice."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np

from gitops_dsf import __version__
from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.result import Figures
from gitops_dsf.backtest.vectorised import sum_blocks
from gitops_dsf.fleetbacktest.comparison import RevisionResult, limits
from gitops_dsf.show.backtest import sentences
from gitops_dsf.show.charts import Chart, Line, Span, document, facts, section
from gitops_dsf.show.markup import escape
from gitops_dsf.wording import plural

OTHERS: Final = 5
"""Number of the colour that all clusters share for which there is no other one."""
SHORT_SECONDS: Final = 600.0
"""In a shorter span, ticks are less than a minute apart."""
MOST_CHARTS: Final = 30
MOST_CLUSTERS: Final = 5
MOST_POINTS: Final = 240
"""Of each line; each is the mean of its stretch of time."""
MOST_SPANS: Final = 400
"""Stretches of a decision that are drawn. A Placement with more is flapping in any case."""


def page(results: Sequence[RevisionResult], *, notes: Sequence[str] = ()) -> str:
    head = results[-1]
    rows = list(sentences.comparisons(results))
    title = (
        "What this would have decided" if len(results) > 1 else "What this fleet would have decided"
    )
    shown = [(key, before, after) for key, before, after in rows if after is not None]
    shown.sort(key=lambda row: (-row[2].returns, -row[2].moves, row[0]))
    lead = f"{escape(sentences.span(head))}."
    if len(results) > 1:
        lead += f" {escape(results[0].side.title)} compared with {escape(head.side.title)}."
    body = [
        f'<header><p class="eyebrow">gitops-dsf {escape(__version__)} · backtest</p>',
        f'<h1>{escape(title)}</h1><p class="lead">{lead}</p>',
        facts(_facts(results, rows)),
        "</header><main>",
        _index(results, shown),
        *(
            _placement(results, key, before, after, anchor=_anchor(place))
            for place, (key, before, after) in enumerate(shown[:MOST_CHARTS])
        ),
    ]
    unknown = [f"{key}: {why}" for key, why in head.side.unknown.items()]
    texts = (*unknown, *notes, *sentences.gaps(head), *limits(results))
    body.append(section("What is not known", "", _listed(texts)))
    body.append(
        "</main><footer><p>Decisions are those of gitops-dsf's simulator of OCM's placement controller.</p>"
        "</footer>"
    )
    return document(title, "".join(body))


def _facts(
    results: Sequence[RevisionResult], rows: Sequence[tuple[str, Figures | None, Figures | None]]
) -> list[tuple[str, str]]:
    after = [item for _, _, item in rows if item is not None]
    found = [
        _counted(len(after), "Placement", "with a known past"),
        _counted(sum(item.moves for item in after), "move"),
        (str(sum(item.returns for item in after)), "of them back and forth"),
    ]
    if len(results) > 1:
        changed = sum(1 for _, before, item in rows if sentences.differs(before, item))
        found.append((str(changed), "would have decided differently"))
    return found


_Rows = Sequence[tuple[str, Figures | None, Figures]]


def _anchor(place: int) -> str:
    return f"placement-{place + 1}"


def _index(results: Sequence[RevisionResult], shown: _Rows) -> str:
    """All Placements in a table, with links to those that have a chart. One alone needs no index."""
    if len(shown) < 2:
        return ""
    head, rows = results[-1], ""
    for place, (key, before, after) in enumerate(shown):
        name = escape(key)
        if place < MOST_CHARTS:
            name = f'<a href="#{_anchor(place)}">{name}</a>'
        moves = f"{after.moves}" if before is None else f"{after.moves} (was {before.moves})"
        numbers = (moves, after.returns, sentences.regret(head, key, before))
        cells = "".join(f"<td class='n'>{escape(str(each))}</td>" for each in numbers)
        rows += f"<tr><td>{name}</td>{cells}<td>{escape(sentences.time_on(head, key))}</td></tr>"
    titles = "".join(
        f"<th class='n'>{title}</th>" for title in ("moves", "back and forth", "regret")
    )
    table = f"<tr><th>Placement</th>{titles}<th>most of the time on</th></tr>{rows}"
    note = "Those that moved back and forth most come first."
    if len(shown) > MOST_CHARTS:
        note += f" The first {MOST_CHARTS} have a chart below."
    return section("All Placements", note, f'<div class="scroll"><table>{table}</table></div>')


def _counted(count: int, noun: str, more: str = "") -> tuple[str, str]:
    number, _, words = plural(count, noun).partition(" ")
    return number, f"{words} {more}".strip()


def _placement(
    results: Sequence[RevisionResult],
    key: str,
    before: Figures | None,
    after: Figures,
    *,
    anchor: str,
) -> str:
    head = results[-1]
    most = f"Most of the time on {sentences.time_on(head, key)}"
    regret = f"Regret in points: {sentences.regret(head, key, before)}."
    note = escape(f"{sentences.moved(after, before)}. {most}. {regret}")
    sides = [(head, after, "after the change" if before is not None else "")]
    if before is not None and sentences.differs(before, after):
        sides.append((results[0], before, f"as in {results[0].side.title}"))
    charts = _charts(sides, key)
    demands = "".join(
        f"<p>{escape(said)}</p><p>{escape(place)}</p>"
        for said, place in sentences.demanded(head, key)
    )
    advice = _advice(head, key) if key in head.side.advice else ""
    return section(key, note, charts + advice + demands, anchor=anchor)


def _charts(sides: Sequence[tuple[RevisionResult, Figures, str]], key: str) -> str:
    """A chart for each side. Clusters have one colour in all, and scores and times one scale."""
    spent: Counter[str] = Counter()
    for _, figures, _ in sides:
        spent.update(figures.seconds_on)
    first = sorted(spent, key=lambda name: (-spent[name], name))
    start = min(result.grid.start for result, _, _ in sides)
    drawn = [_drawn(result, key, first, start=start) for result, _, _ in sides]
    names = dict.fromkeys(name for each in drawn for name in each.lines)
    colours = {name: f"c{min(place, OTHERS)}" for place, name in enumerate(names)}
    values = [value for each in drawn for points in each.lines.values() for _, value in points]
    held = [min(value, 100.0) for each in drawn for piece in each.bounds for _, value in piece]
    scale = _Scale(
        low=min([0.0, *values]),
        high=max([10.0, *values, *held]),
        start=start,
        end=max(result.grid.end for result, _, _ in sides),
    )
    return "".join(
        _chart(result, key, each, when=when, colours=colours, scale=scale)
        for (result, _, when), each in zip(sides, drawn, strict=True)
    )


_Points = Sequence[tuple[float, float]]
"""Seconds since the start of the page's charts, and points of the weighted mean of the scores."""


class _Scale(NamedTuple):
    """What the charts of a Placement share."""

    low: float
    high: float
    start: float
    """Unix seconds."""
    end: float


class _Drawn(NamedTuple):
    lines: Mapping[str, _Points]
    """By cluster."""
    bounds: Sequence[_Points]
    """What another cluster must reach to take over; nothing without stickiness."""
    stickiness: float


def _drawn(result: RevisionResult, key: str, named: Sequence[str], *, start: float) -> _Drawn:
    """The lines of a Placement: of the named clusters, then of those with the highest scores."""
    contest, columns, grid = result.backtest.contests[key], result.backtest.columns, result.grid
    size = max(1, -(-grid.count // MOST_POINTS))
    width = len(contest.candidates)
    means = np.zeros((-(-grid.count // size), width))
    points = np.zeros((len(means), 1))
    for number, sums in sum_blocks(
        contest, columns, score_expiries(contest, columns.tracks, grid=grid)
    ):
        places = (np.arange(len(sums)) + number) // size
        np.add.at(means, places, sums)
        np.add.at(points, places, 1)
    means = means / points / contest.total_weight
    wanted = [name for name in named if name in contest.names]
    best = (
        [contest.names[place] for place in np.argsort(-means.mean(axis=0), kind="stable")]
        if width
        else []
    )
    clusters = list(dict.fromkeys([*wanted, *best]))[:MOST_CLUSTERS]
    chosen = [contest.names.index(name) for name in clusters]
    times = [grid.start - start + place * size * grid.step for place in range(len(means))]
    lines = {
        name: [(at, float(value)) for at, value in zip(times, means[:, column], strict=True)]
        for name, column in zip(clusters, chosen, strict=True)
    }
    stickiness = 100 * contest.steady / contest.total_weight
    bounds = list[list[tuple[float, float]]]()
    decided = result.backtest.lines[key].decided if stickiness else ()
    for item, until in zip(
        decided, [*(each.number for each in decided[1:]), grid.count], strict=False
    ):
        held = [contest.names.index(name) for name in item.clusters if name in contest.names]
        first, last = -(-item.number // size), -(-until // size)
        if held and first < last:
            weakest = means[first:last, held].min(axis=1) + stickiness
            bounds.append(
                [(at, float(value)) for at, value in zip(times[first:last], weakest, strict=True)]
            )
    return _Drawn(lines=lines, bounds=bounds, stickiness=stickiness)


def _chart(
    result: RevisionResult,
    key: str,
    drawn: _Drawn,
    *,
    when: str,
    colours: Mapping[str, str],
    scale: _Scale,
) -> str:
    lines, start, line = drawn.lines, scale.start, result.backtest.lines[key]
    spans = list(_spans(line, colours, result, start=start))[:MOST_SPANS]
    heading = f"{key} {when}".strip()
    seconds = scale.end - start
    form = "%H:%M:%S" if seconds <= SHORT_SECONDS else "%d %b %H:%M"
    chart = Chart(
        key=f"p{list(result.backtest.contests).index(key)}{when.partition(' ')[0]}",
        title=f"Scores of the clusters of {heading}",
        description=f"The weighted mean of the scores of {plural(len(lines), 'cluster')}, and where it ran.",
        lines=[
            Line(name=name, colour=colours[name], points=points) for name, points in lines.items()
        ],
        bounds=drawn.bounds,
        low=scale.low,
        high=scale.high,
        end=seconds,
        spans=spans,
        label=lambda after: datetime.fromtimestamp(start + after, UTC).strftime(form),
    )
    # With the last value: on a narrow screen the ends of the lines are outside of the view.
    entries = [
        f'<li class="{colours[name]}"><i></i>{escape(name)} <b>{points[-1][1]:.0f}</b></li>'
        for name, points in lines.items()
    ]
    if any(span.colour == f"c{OTHERS}" for span in spans):
        entries.append(f'<li class="c{OTHERS}"><i></i>other clusters, or none</li>')
    if max(len(item.clusters) for item in line.decided) > 1:
        entries.append("<li>the bar has the colour of the first of its clusters</li>")
    if drawn.bounds:
        points = f"{drawn.stickiness:.3g} points"
        entries.append(f'<li class="hold"><i></i>to take over: stickiness, {points} above</li>')
    legend = "".join(entries)
    caption = f"<h3>{escape(heading)}</h3>" if when else ""
    return f'{caption}<ul class="legend">{legend}</ul><div class="scroll">{chart.draw()}</div>'


def _spans(
    line: DecisionLine, colours: Mapping[str, str], result: RevisionResult, *, start: float
) -> Iterator[Span]:
    """One stretch for each decision. A decision of several clusters has the colour of the first."""
    before = result.grid.start - start
    ends = [item.number for item in line.decided[1:]] + [result.grid.count - 1]
    for item, end in zip(line.decided, ends, strict=True):
        yield Span(
            start=before + item.number * result.grid.step,
            end=before + end * result.grid.step,
            name=", ".join(item.clusters) or "nowhere",
            colour=colours.get(item.clusters[0] if item.clusters else "", f"c{OTHERS}"),
        )


def _listed(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _advice(result: RevisionResult, key: str) -> str:
    advice = result.side.advice[key]
    rows = ""
    for each in advice.shown:
        values = (each.moves, each.returns, f"{each.regret:.1f}", each.writes)
        cells = "".join(f"<td class='n'>{value}</td>" for value in values)
        rows += f"<tr><td>{escape(sentences.settings(each))}</td>{cells}<td>{advice.mark(each)}</td></tr>"
    titles = ("moves", "back and forth", "regret", "hub writes")
    numbers = "".join(f"<th class='n'>{title}</th>" for title in titles)
    head = f"<tr><th>setting</th>{numbers}<th></th></tr>"
    return (
        f"<h3>Advice</h3><p>{escape(sentences.advised(result, key))}</p>"
        f"{_listed(sentences.places(result, key))}"
        "<details><summary>The settings with the fewest moves back and forth that no other of them beats"
        f"</summary><div class='scroll'><table>{head}{rows}</table></div></details>"
    )
