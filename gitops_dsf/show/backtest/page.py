"""A backtest as an HTML page.

It shows the scores of clusters over time, where each Placement ran, and the advice.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from gitops_dsf import __version__
from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.result import Figures
from gitops_dsf.fleetbacktest.result import ComparedFigures, RevisionResult, compared, limits
from gitops_dsf.fleetbacktest.scorelines import ScoreLines, score_lines
from gitops_dsf.show import htmlpage
from gitops_dsf.show.backtest import sentences
from gitops_dsf.show.charts import Chart, ChartBar, ChartLine
from gitops_dsf.show.htmlpage import Fact
from gitops_dsf.show.markup import escape
from gitops_dsf.wording import plural

OTHERS: Final = 5
"""Number of the colour that all clusters share for which there is no other one."""
SHORT_SECONDS: Final = 600.0
"""In a shorter span, ticks are less than a minute apart."""
MAX_CHARTS: Final = 30
MAX_BARS: Final = 400
"""Decisions that are drawn. A Placement with more is flapping in any case."""


class _ShownPlacement(NamedTuple):
    """A Placement that is decided after the change."""

    key: str
    """namespace/name."""
    before: Figures | None
    after: Figures


class _ShownSide(NamedTuple):
    """One revision in the charts of a Placement."""

    result: RevisionResult
    figures: Figures
    caption: str
    """Empty if there is no other revision."""


class _Scale(NamedTuple):
    """What the charts of a Placement share."""

    low: float
    high: float
    start: float
    """Unix seconds."""
    end: float


def page(results: Sequence[RevisionResult], *, notes: Sequence[str] = ()) -> str:
    """The whole page. It shows the first Placements with charts, and all of them in a table."""
    head = results[-1]
    rows = compared(results)
    placements = _shown(rows)
    title = _title(results)
    body = (
        f'<header><p class="eyebrow">gitops-dsf {escape(__version__)} · backtest</p>'
        f'<h1>{escape(title)}</h1><p class="lead">{_lead(results)}</p>'
    )
    body += htmlpage.facts(_facts(results, rows))
    body += "</header><main>"
    body += _index(results, placements)
    for number, placement in enumerate(placements[:MAX_CHARTS]):
        body += _section(results, placement, anchor=_anchor(number))
    unknown = [*sentences.undecided(head), *notes, *sentences.gaps(head), *limits(results)]
    body += htmlpage.section("What is not known", "", htmlpage.listed(unknown))
    body += (
        "</main><footer><p>Decisions are those of gitops-dsf's simulator of OCM's placement"
        " controller.</p></footer>"
    )
    return htmlpage.document(title, body)


def _shown(rows: Sequence[ComparedFigures]) -> Sequence[_ShownPlacement]:
    """The Placements that are decided after the change, those that flap most first."""
    placements: list[_ShownPlacement] = []
    for key, before, after in rows:
        if after is not None:
            placements.append(_ShownPlacement(key, before, after))
    return sorted(placements, key=lambda row: (-row.after.returns, -row.after.moves, row.key))


def _title(results: Sequence[RevisionResult]) -> str:
    if len(results) > 1:
        return "What this would have decided"
    return "What this fleet would have decided"


def _lead(results: Sequence[RevisionResult]) -> str:
    head = results[-1]
    if len(results) == 1:
        return f"{escape(sentences.span(head))}."
    return (
        f"{escape(sentences.span(head))}."
        f" {escape(results[0].side.title)} compared with {escape(head.side.title)}."
    )


def _facts(results: Sequence[RevisionResult], rows: Sequence[ComparedFigures]) -> Iterator[Fact]:
    moves = 0
    returns = 0
    placements = 0
    changed = 0
    for row in rows:
        changed += row.differs
        if row.after is not None:
            placements += 1
            moves += row.after.moves
            returns += row.after.returns
    yield _counted(placements, "Placement", "with a known past")
    yield _counted(moves, "move")
    yield Fact(str(returns), "of them back and forth")
    if len(results) > 1:
        yield Fact(str(changed), "would have decided differently")


def _counted(count: int, noun: str, more: str = "") -> Fact:
    number, _, words = plural(count, noun).partition(" ")
    return Fact(number, f"{words} {more}".strip())


def _anchor(number: int) -> str:
    return f"placement-{number + 1}"


def _index(results: Sequence[RevisionResult], shown: Sequence[_ShownPlacement]) -> str:
    """All Placements in a table, with links to the charts. One alone needs no index."""
    if len(shown) < 2:
        return ""
    titles = htmlpage.number_titles(("moves", "back and forth", "regret"))
    table = f"<tr><th>Placement</th>{titles}<th>most of the time on</th></tr>"
    for number, placement in enumerate(shown):
        table += _index_row(results[-1], placement, number)
    note = "Those that moved back and forth most come first."
    if len(shown) > MAX_CHARTS:
        note += f" The first {MAX_CHARTS} have a chart below."
    content = '<div class="scroll"><table>' + table + "</table></div>"
    return htmlpage.section("All Placements", note, content)


def _index_row(head: RevisionResult, placement: _ShownPlacement, number: int) -> str:
    key, before, after = placement
    name = escape(key)
    if number < MAX_CHARTS:
        name = _link(_anchor(number), name)
    moves = str(after.moves)
    if before is not None:
        moves += f" (was {before.moves})"
    numbers = htmlpage.number_cells((moves, after.returns, sentences.regret(head, key, before)))
    time_on = escape(sentences.time_on(head, key))
    return f"<tr><td>{name}</td>{numbers}<td>{time_on}</td></tr>"


def _link(anchor: str, html: str) -> str:
    return f'<a href="#{anchor}">{html}</a>'


def _section(results: Sequence[RevisionResult], placement: _ShownPlacement, *, anchor: str) -> str:
    """One Placement: its charts and the advice."""
    key, before, after = placement
    head = results[-1]
    note = (
        f"{sentences.moved(after, before)}. Most of the time on {sentences.time_on(head, key)}."
        f" Regret in points: {sentences.regret(head, key, before)}."
    )
    sides = [_ShownSide(head, after, "after the change" if before is not None else "")]
    if before is not None and ComparedFigures(key, before, after).differs:
        base = results[0]
        sides.append(_ShownSide(base, before, f"as in {base.side.title}"))
    content = _charts(sides, key)
    if key in head.side.advice:
        content += _advice(head, key)
    for demand in sentences.demanded(head, key):
        content += f"<p>{escape(demand.sentence)}</p><p>{escape(demand.field)}</p>"
    return htmlpage.section(key, escape(note), content, anchor=anchor)


def _charts(sides: Sequence[_ShownSide], key: str) -> str:
    """A chart for each revision, with the same colours of clusters and the same scale."""
    spent: Counter[str] = Counter()
    for side in sides:
        spent.update(side.figures.seconds_on)
    longest_first = sorted(spent, key=lambda name: (-spent[name], name))
    start = min(side.result.grid.start for side in sides)
    drawn = [score_lines(side.result.backtest, key, longest_first, start=start) for side in sides]
    names: list[str] = []
    low = 0.0
    high = 10.0
    for scores in drawn:
        names.extend(scores.lines)
        for line in scores.lines.values():
            low = min(low, *(point.value for point in line))
            high = max(high, *(point.value for point in line))
        for bound in scores.bounds:
            # No score is above 100: a bound above it would only make the lines flat.
            high = max(high, min(100.0, max(point.value for point in bound)))
    colours: dict[str, str] = {}
    for number, name in enumerate(dict.fromkeys(names)):
        colours[name] = f"c{min(number, OTHERS)}"
    end = max(side.result.grid.end for side in sides)
    scale = _Scale(low, high, start, end)
    html = ""
    for side, scores in zip(sides, drawn, strict=True):
        html += _chart(side, key, scores, colours=colours, scale=scale)
    return html


def _chart(
    side: _ShownSide,
    key: str,
    scores: ScoreLines,
    *,
    colours: Mapping[str, str],
    scale: _Scale,
) -> str:
    """The chart of one revision, with its caption and legend."""
    backtest = side.result.backtest
    bars = _bars(side.result, backtest.lines[key], colours, start=scale.start)
    heading = f"{key} {side.caption}".strip()
    length = scale.end - scale.start
    form = "%H:%M:%S" if length <= SHORT_SECONDS else "%d %b %H:%M"

    def label(seconds: float) -> str:
        return datetime.fromtimestamp(scale.start + seconds, UTC).strftime(form)

    lines: list[ChartLine] = []
    for name, points in scores.lines.items():
        lines.append(ChartLine(name=name, colour=colours[name], points=points))
    number = list(backtest.placements).index(key)
    chart = Chart(
        key=f"p{number}{side.caption.partition(' ')[0]}",
        title="Scores of the clusters of " + heading,
        description=(
            f"The weighted mean of the scores of {plural(len(lines), 'cluster')}, and where it ran."
        ),
        lines=lines,
        bounds=scores.bounds,
        low=scale.low,
        high=scale.high,
        end=length,
        bars=bars,
        label=label,
    )
    html = ""
    if side.caption:
        html += f"<h3>{escape(heading)}</h3>"
    html += '<ul class="legend">' + "".join(_legend(lines, bars, scores, backtest.lines[key]))
    return html + f'</ul><div class="scroll">{chart.draw()}</div>'


def _legend(
    lines: Sequence[ChartLine],
    bars: Sequence[ChartBar],
    scores: ScoreLines,
    decisions: DecisionLine,
) -> Iterator[str]:
    # With the last value: on a narrow screen the ends of the lines are outside of the view.
    for line in lines:
        yield (
            f'<li class="{line.colour}"><i></i>{escape(line.name)}'
            f" <b>{line.points[-1][1]:.0f}</b></li>"
        )
    if any(bar.colour == f"c{OTHERS}" for bar in bars):
        yield f'<li class="c{OTHERS}"><i></i>other clusters, or none</li>'
    if decisions.max_clusters > 1:
        yield "<li>the bar has the colour of the first of its clusters</li>"
    if scores.bounds:
        yield (
            '<li class="hold"><i></i>to take over: stickiness,'
            f" {scores.stickiness:.3g} points above</li>"
        )


def _bars(
    result: RevisionResult, line: DecisionLine, colours: Mapping[str, str], *, start: float
) -> Sequence[ChartBar]:
    """A bar for each decision. A decision of several clusters has the colour of the first."""
    grid = result.grid
    begin = grid.start - start
    bars: list[ChartBar] = []
    for held in line.held(end=grid.count - 1):
        if len(bars) == MAX_BARS:
            break
        first = held.clusters[0] if held.clusters else ""
        bars.append(
            ChartBar(
                start=begin + held.first * grid.step,
                end=begin + held.end * grid.step,
                name=", ".join(held.clusters) or "nowhere",
                colour=colours.get(first, f"c{OTHERS}"),
            )
        )
    return bars


def _advice(result: RevisionResult, key: str) -> str:
    """The advice, and below it the settings among which it chose."""
    advice = result.side.advice[key]
    titles = ("moves", "back and forth", "regret", "hub writes")
    table = f"<tr><th>setting</th>{htmlpage.number_titles(titles)}<th></th></tr>"
    for trial in advice.shown:
        cells = htmlpage.number_cells(
            (trial.moves, trial.returns, f"{trial.regret:.1f}", trial.writes)
        )
        table += (
            f"<tr><td>{escape(sentences.settings(trial))}</td>{cells}"
            f"<td>{advice.mark(trial)}</td></tr>"
        )
    return (
        f"<h3>Advice</h3><p>{escape(sentences.advised(result, key))}</p>"
        + htmlpage.listed(sentences.advised_fields(result, key))
        + "<details><summary>The settings with the fewest moves back and forth that no other of"
        " them beats</summary><div class='scroll'><table>" + table + "</table></div></details>"
    )
