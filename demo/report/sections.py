"""The parts of the page below its first chart: moves, numbers, the preview and the steps. All text is escaped
here.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from demo.history import Command, History, Move
from demo.report.figures import Figures, thin
from gitops_dsf.views.page.clock import clock

MOST_ROWS: Final = 40


def cluster(figures: Figures, name: str) -> str:
    """A cluster's name with its colour."""
    return (
        f'<span class="cluster"><span class="dot {figures.colour(name)}"'
        f' aria-hidden="true"></span>{escape(name)}</span>'
    )


def events(figures: Figures) -> str:
    """The list of events to which the numbers in the charts refer."""
    rows = "".join(
        '<li><span class="badge'
        f' {mark.kind}">{mark.number}</span><time>{clock(mark.seconds)}</time><span>{escape(mark.text)}</span></li>'  # noqa: E501
        for mark in figures.marks()
    )
    return f'<ol class="events">{rows}</ol>'


def moves(figures: Figures) -> str:
    """Which moves happened when and why, and why the application stays at the end."""
    items = [_move(figures, move) for move in figures.history.moves]
    if reason := figures.history.stays():
        here = ", ".join(cluster(figures, name) for name in figures.history.observations[-1].chosen)
        items.append(
            f"<li><time>{clock(figures.end)}</time><div><h3>stays on"
            f" {here}</h3><p>{escape(reason)}.</p></div></li>"
        )
    return f'<ol class="moves">{"".join(items)}</ol>'


def _move(figures: Figures, move: Move) -> str:
    target = ", ".join(cluster(figures, name) for name in move.target)
    what = (
        f"{', '.join(cluster(figures, name) for name in move.origin)} → {target}"
        if move.origin
        else f"starts on {target}"
    )
    cause = (
        f'<p class="muted">After: {escape(move.cause.text)}</p>'
        if move.origin and move.cause is not None
        else ""
    )
    return (
        f"<li><time>{clock(move.time - figures.history.start)}</time>"
        f"<div><h3>{what}</h3><p>{escape(move.reason)}.</p>{cause}</div>"
        f"<div>{_changes(figures, move)}</div></li>"
    )


def _changes(figures: Figures, move: Move) -> str:
    found = move.changes() if move.origin else []
    if not found:
        return ""
    rows = "".join(
        f'<tr><td>{escape(score)}</td><td>{cluster(figures, name)}</td><td class="n">{before}</td><td'
        f' class="n">{after}</td></tr>'
        for score, name, before, after in found
    )
    return f"<table><thead>{_head('changed score', 'cluster', n='before then')}</thead><tbody>{rows}</tbody></table>"  # noqa: E501


def decisions(figures: Figures) -> str:
    """The table of decisions."""
    rows = "".join(
        f"<tr><td>{clock(span.start)}</td><td>{clock(span.end)}</td><td>{escape(span.name)}</td>"
        f'<td class="n">{span.end - span.start:.0f}</td></tr>'
        for span in figures.spans()
    )
    return (
        "<div"
        f' class="scroll"><table><thead>{_head("from", "to", "cluster", n="seconds")}</thead><tbody>{rows}</tbody></table></div>'  # noqa: E501
    )


def _head(*names: str, n: str = "") -> str:
    """A row of column heads; those in ``n`` are above numbers."""
    text = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    over = "".join(f'<th scope="col" class="n">{escape(name)}</th>' for name in n.split())
    return f"<tr>{text}{over}</tr>"


def numbers(history: History) -> str:
    """The table of points, scores and load."""
    scores = sorted({name for observation in history.observations for name in observation.scores})
    heads = [
        "time",
        "runs on",
        *(f"{name}: points ({', '.join(scores)}; CPU use)" for name in history.clusters),
    ]
    rows = []
    for observation in thin(history.observations, MOST_ROWS):
        cells = [clock(observation.time - history.start), ", ".join(observation.chosen)]
        for name in history.clusters:
            parts = [str(observation.scores.get(score, {}).get(name, "none")) for score in scores]
            points = observation.points.get(name)
            load = observation.load.get(name)
            cpu = "" if load is None else f"; {load:.0f} %"
            cells.append(f"{'out' if points is None else format(points, '.1f')} ({', '.join(parts)}{cpu})")
        rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f"<table><thead>{_head(*heads)}</thead><tbody>{body}</tbody></table>"
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Points, scores and CPU'
        f' use">{table}</div>'
    )


def steps(history: History) -> Iterator[str]:
    """The steps, with their commands and output."""
    for step in history.steps:
        if not step.lines and not step.commands:
            continue
        text = "".join(f"<p>{escape(line)}</p>" for line in step.lines)
        yield (
            f"<details><summary>{step.number}."
            f" {escape(step.title)}</summary>{text}{''.join(map(_command, step.commands))}</details>"
        )


def _command(command: Command) -> str:
    output = command.output.rstrip("\n")
    return (
        f'<pre tabindex="0"><b>$ {escape(command.text)}</b>{escape(chr(10) + output) if output else ""}</pre>'
    )


def tries(lines: Sequence[str]) -> str:
    """Commands to try."""
    return f'<pre tabindex="0">{escape(chr(10).join(lines))}</pre>'
