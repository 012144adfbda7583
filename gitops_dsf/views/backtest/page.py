"""A backtest as a page: the scores of clusters over time, where each Placement ran, and the advice."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from gitops_dsf import __version__
from gitops_dsf.backtest.contest import lapses
from gitops_dsf.backtest.result import Figures
from gitops_dsf.backtest.track import DecisionLine
from gitops_dsf.backtest.vectorised import sum_blocks
from gitops_dsf.views.backtest import sentences
from gitops_dsf.views.backtest.build import Result, limits
from gitops_dsf.views.backtest.chart import Chart, Line, Span, document, facts, section
from gitops_dsf.views.markup import escape
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


def page(results: Sequence[Result], *, notes: Sequence[str] = ()) -> str:
    head = results[-1]
    rows = list(sentences.comparisons(results))
    title = "What this would have decided" if len(results) > 1 else "What this fleet would have decided"
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
        *(_placement(results, key, before, after) for key, before, after in shown[:MOST_CHARTS]),
    ]
    if len(shown) > MOST_CHARTS:
        body.append(section(f"{len(shown) - MOST_CHARTS} more", "They are in the JSON output.", ""))
    unknown = [f"{key}: {why}" for key, why in head.side.unknown.items()]
    texts = (*unknown, *notes, *sentences.gaps(head), *limits(results))
    body.append(section("What is not known", "", _listed(texts)))
    body.append(
        "</main><footer><p>Decisions are those of gitops-dsf's simulator of OCM's placement controller.</p>"
        "</footer>"
    )
    return document(title, "".join(body))


def _facts(
    results: Sequence[Result], rows: Sequence[tuple[str, Figures | None, Figures | None]]
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


def _counted(count: int, noun: str, more: str = "") -> tuple[str, str]:
    number, _, words = plural(count, noun).partition(" ")
    return number, f"{words} {more}".strip()


def _placement(results: Sequence[Result], key: str, before: Figures | None, after: Figures | None) -> str:
    head = results[-1]
    if after is None:
        return ""
    most = f"Most of the time on {sentences.time_on(head, key)}"
    regret = f"Regret in points: {sentences.regret(head, key, before)}."
    note = escape(f"{sentences.moved(after, before)}. {most}. {regret}")
    sides = [(head, after, "after the change" if before is not None else "")]
    if before is not None and sentences.differs(before, after):
        sides.append((results[0], before, f"as in {results[0].side.title}"))
    charts = _charts(sides, key)
    demands = "".join(
        f"<p>{escape(said)}</p><p>{escape(place)}</p>" for said, place in sentences.demanded(head, key)
    )
    return section(key, note, charts + (_advice(head, key) if key in head.side.advice else "") + demands)


def _charts(sides: Sequence[tuple[Result, Figures, str]], key: str) -> str:
    """A chart for each side. Clusters have one colour in all, and scores one scale."""
    spent: Counter[str] = Counter()
    for _, figures, _ in sides:
        spent.update(figures.seconds_on)
    first = sorted(spent, key=lambda name: (-spent[name], name))
    drawn = [_lines_of(result, key, first) for result, _, _ in sides]
    names = dict.fromkeys(name for lines in drawn for name in lines)
    colours = {name: f"c{min(place, OTHERS)}" for place, name in enumerate(names)}
    values = [value for lines in drawn for points in lines.values() for _, value in points]
    low, high = min([0.0, *values]), max([10.0, *values])
    return "".join(
        _chart(result, key, lines, when, colours, low=low, high=high)
        for (result, _, when), lines in zip(sides, drawn, strict=True)
    )


_Lines = Mapping[str, Sequence[tuple[float, float]]]
"""By cluster: seconds since the start of the grid, and the weighted mean of the scores."""


def _lines_of(result: Result, key: str, named: Sequence[str]) -> _Lines:
    """The lines of a Placement: of the named clusters, then of those with the highest scores."""
    contest, columns, grid = result.backtest.contests[key], result.backtest.columns, result.grid
    size = max(1, -(-grid.count // MOST_POINTS))
    width = len(contest.candidates)
    means = np.zeros((-(-grid.count // size), width))
    points = np.zeros((len(means), 1))
    for number, sums in sum_blocks(contest, columns, lapses(contest, columns.tracks, grid=grid)):
        places = (np.arange(len(sums)) + number) // size
        np.add.at(means, places, sums)
        np.add.at(points, places, 1)
    means = means / points / contest.total_weight
    wanted = [name for name in named if name in contest.names]
    best = [contest.names[place] for place in np.argsort(-means.mean(axis=0), kind="stable")] if width else []
    clusters = list(dict.fromkeys([*wanted, *best]))[:MOST_CLUSTERS]
    chosen = [contest.names.index(name) for name in clusters]
    return {
        name: [(place * size * grid.step, float(value)) for place, value in enumerate(means[:, column])]
        for name, column in zip(clusters, chosen, strict=True)
    }


def _chart(
    result: Result, key: str, lines: _Lines, when: str, colours: Mapping[str, str], *, low: float, high: float
) -> str:
    start = result.grid.start
    heading = f"{key} {when}".strip()
    seconds = result.grid.end - start
    form = "%H:%M:%S" if seconds <= SHORT_SECONDS else "%d %b %H:%M"
    chart = Chart(
        key=f"p{list(result.backtest.contests).index(key)}{when.partition(' ')[0]}",
        title=f"Scores of the clusters of {heading}",
        description=f"The weighted mean of the scores of {plural(len(lines), 'cluster')}, and where it ran.",
        lines=[Line(name=name, colour=colours[name], points=points) for name, points in lines.items()],
        low=low,
        high=high,
        end=seconds,
        spans=list(_spans(result.backtest.lines[key], colours, result))[:MOST_SPANS],
        label=lambda after: datetime.fromtimestamp(start + after, UTC).strftime(form),
    )
    legend = "".join(f'<li class="{colours[name]}"><i></i>{escape(name)}</li>' for name in lines)
    caption = f"<h3>{escape(heading)}</h3>" if when else ""
    return f'{caption}<ul class="legend">{legend}</ul><div class="scroll">{chart.draw()}</div>'


def _spans(line: DecisionLine, colours: Mapping[str, str], result: Result) -> Iterator[Span]:
    """One stretch for each decision. A decision of several clusters has the colour of the first."""
    ends = [item.number for item in line.decided[1:]] + [result.grid.count - 1]
    for item, end in zip(line.decided, ends, strict=True):
        yield Span(
            start=item.number * result.grid.step,
            end=end * result.grid.step,
            name=", ".join(item.clusters) or "nowhere",
            colour=colours.get(item.clusters[0] if item.clusters else "", f"c{OTHERS}"),
        )


def _listed(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _advice(result: Result, key: str) -> str:
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
