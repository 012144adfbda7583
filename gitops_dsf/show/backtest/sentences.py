"""What a backtest found, in sentences, and as a section of a pull-request comment."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import UNSET

from gitops_dsf.backtest.figures import is_short
from gitops_dsf.backtest.result import Figures, Trial
from gitops_dsf.fleetbacktest.comparison import RevisionResult, limits
from gitops_dsf.show.markdown import code, escaped
from gitops_dsf.wording import names_text, plural

MOST_NAMED = 3


def moved(now: Figures, before: Figures | None = None) -> str:
    """`19 moves (17 to 22) instead of 2, 14 of them back and forth between eu-1 and eu-2 (latency)`."""
    text = plural(now.moves, "move") + _range(now)
    if before is not None:
        same = (before.moves, before.moves_range) == (now.moves, now.moves_range)
        text += ", as before" if same else f" instead of {before.moves}{_range(before)}"
    if now.returns:
        clusters = sorted({name for item in now.flapping for name in item.clusters})
        text += f", {now.returns} of them back and forth between {listed(clusters)}"
        if now.causes:
            text += f" ({listed(now.causes)})"
    return text + _without_pace(now)


def _without_pace(item: Figures) -> str:
    """`; without the pace 19 moves, 12 of them back and forth; longest wait 40 min`."""
    found = item.paced
    if found is UNSET:
        return ""
    text = f"; without the pace {plural(found.moves_without, 'move')}"
    if found.returns_without:
        text += f", {found.returns_without} of them back and forth"
    if found.waits:
        seconds = found.longest_wait_seconds
        longest = f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"
        text += f"; longest wait {longest}"
    return text


def _range(item: Figures) -> str:
    """` (27 to 35)`: the fewest and the most moves; nothing if they are equal."""
    found = item.moves_range
    return "" if found is None or found[0] == found[1] else " ({} to {})".format(*found)


def comparisons(
    results: Sequence[RevisionResult],
) -> Iterator[tuple[str, Figures | None, Figures | None]]:
    """Key, figures before and figures after of every Placement that either side decided, in order of key."""
    after = results[-1].side.placements
    before: Mapping[str, Figures] = results[0].side.placements if len(results) > 1 else {}
    for key in sorted({*before, *after}):
        yield key, before.get(key), after.get(key)


def differs(before: Figures | None, after: Figures | None) -> bool:
    return (
        before is None
        or after is None
        or (before.changes, before.seconds_on) != (after.changes, after.seconds_on)
    )


def time_on(result: RevisionResult, key: str) -> str:
    """`eu-1 61 %, eu-2 39 %`: the share of the span for which each cluster was chosen."""
    whole = result.grid.count * result.grid.step
    spent = result.side.placements[key].seconds_on
    shares = [f"{name} {100 * seconds / whole:.0f} %" for name, seconds in spent.items()]
    return names_text(shares, most=MOST_NAMED)


def regret(result: RevisionResult, key: str, before: Figures | None = None) -> str:
    """`0.3 (was 1.1)`; `4.2 (was 0.0), the sum of 3 clusters`."""
    was = "" if before is None else f" (was {before.regret:.1f})"
    most = max(len(item.clusters) for item in result.backtest.lines[key].decided)
    summed = f", the sum of {most} clusters" if most > 1 else ""
    return f"{result.side.placements[key].regret:.1f}{was}{summed}"


def advised(result: RevisionResult, key: str) -> str:
    """`stickiness 20 instead of 5: 2 moves instead of 19, ...`; what is written if nothing is better."""
    advice, figures = result.side.advice[key], result.side.placements[key]
    free = "" if figures.paced is UNSET else " (without the pace)"
    if not advice.changes:
        more, moves = "", figures.moves_range
        if moves is not None and moves[1] > advice.written.moves:
            more = f"; with other moments of the agents, {plural(moves[1], 'move')}: more may be better"
        return f"keep stickiness {advice.written.stickiness}{free}: {advice.reason}{more}"
    written = advice.written.stickiness
    before = "" if advice.recommended.stickiness == written else f" instead of {written}"
    deadband = advice.recommended.deadband
    calm = "" if deadband is None else f", with a deadband of {deadband}"
    return f"stickiness {advice.recommended.stickiness}{before}{calm}{free}: {advice.reason}"


def places(result: RevisionResult, key: str) -> Iterator[str]:
    """`apps/portal.yaml:12: spec.stickiness: 25 instead of 20`; nothing if the advice is what is written."""
    for each in result.side.advice[key].fields:
        text = f"{each.file}:{each.line}: {each.field}: {each.after} instead of {each.before}"
        yield text + (f"; it also concerns {listed(each.also)}" if each.also else "")


def demanded(result: RevisionResult, key: str) -> Iterator[tuple[str, str]]:
    """A sentence on each demand that recorded moves show, and where to write it."""
    for each in result.side.demands.get(key, ()):
        field = each.field
        said = (
            f"demand {field.after} of {each.scorer} instead of {field.before}: {each.cases} recorded arrivals"
            f" took {each.mean:.1f} points on average, with a standard deviation of {each.spread:.1f}"
        )
        yield (
            said,
            f"{field.file}:{field.line}: {field.field}: {field.after} instead of {field.before}",
        )


def settings(trial: Trial) -> str:
    """`stickiness 20`, or `stickiness 20 and deadband 5`."""
    deadband = trial.deadband
    return f"stickiness {trial.stickiness}" + (
        f" and deadband {deadband}" if deadband is not None else ""
    )


def gaps(result: RevisionResult) -> Iterator[str]:
    """One line for each score with gaps in its history, and one for Placements that were not replayed."""
    for resource, found in result.side.gaps.items():
        names = sorted(found, key=lambda name: (-found[name], name))
        worst = names_text([f"{name} {100 * found[name]:.0f} %" for name in names], most=MOST_NAMED)
        where = plural(len(names), "cluster")
        yield f"{resource} has gaps on {where}: {worst} of the points are missing"
    if count := sum(1 for each in result.side.placements.values() if each.moves_range is None):
        ask = "" if result.is_part else " (--placement asks for one)"
        yield (
            f"with other moments of the agents, {plural(count, 'Placement')} may move more or less often: too"
            f" large to try here{ask}, decided pass by pass, or paced"
        )
    if result.side.placements and is_short(result.grid):
        minutes = (result.grid.end - result.grid.start) / 60
        yield (
            f"{minutes:.1f} minutes of history are too few for a rate a day and for advice: an hour is the"
            " least"
        )
    if others := result.side.unpaced:
        named = names_text([f"{key} ({why})" for key, why in others.items()], most=MOST_NAMED)
        yield f"{plural(len(others), 'paced Placement')} that nobody waits for here: {named}"


def moment(at: float) -> str:
    """`2026-11-22 16:00` in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def span(result: RevisionResult) -> str:
    """`14.0 days from 2026-11-08 16:00 to 2026-11-22 16:00 UTC, a point every 60 s`, and why not earlier."""
    grid = result.grid
    why = f"; before that, {result.waited_for} has no scores" if result.waited_for else ""
    days = (grid.count - 1) * grid.step / 86_400
    hours = days * 24
    if hours < 1:
        start, end = (
            f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}" for at in (grid.start, grid.end)
        )
        return f"{hours * 60:.1f} minutes from {start} to {end} UTC, a point every {grid.step:g} s{why}"
    length = f"{days:.1f} days" if days >= 1 else f"{hours:.1f} hours"
    return f"{length} from {moment(grid.start)} to {moment(grid.end)} UTC, a point every {grid.step:g} s{why}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b, c and 2 more`."""
    if len(names) > MOST_NAMED:
        return names_text(names, most=MOST_NAMED)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


MOST_ROWS = 20


def markdown(results: Sequence[RevisionResult], *, notes: Sequence[str] = ()) -> str:
    """What would have changed, then the figures in a table, then what is not known."""
    head = results[-1]
    lines = ["### What this would have done", "", f"{span(head)}.", ""]
    rows = [
        (key, before, after)
        for key, before, after in comparisons(results)
        if len(results) == 1 or differs(before, after)
    ]
    if len(results) > 1:
        changed = f"{plural(len(rows), 'Placement')} would have decided differently"
        lines += [f"Compared with {code(results[0].side.title)}, {changed}.", ""]
    if rows:
        lines += ["| Placement | moves | most of the time on | regret |", "|---|---|---|---|"]
    for key, before, after in rows[:MOST_ROWS]:
        if after is None:
            lines.append(f"| {code(key)} | not decided after the change | | |")
        else:
            moves, most = escaped(moved(after, before)), escaped(time_on(head, key))
            lines.append(f"| {code(key)} | {moves} | {most} | {regret(head, key, before)} |")
    if len(rows) > MOST_ROWS:
        lines.append(f"\n{len(rows) - MOST_ROWS} more are in the JSON output.")
    changing = [key for key, item in head.side.advice.items() if item.changes]
    if changing or head.side.demands:
        lines += ["", "**Advice**", ""]
        for key in changing[:MOST_ROWS]:
            lines.append(f"- {code(key)}: {escaped(advised(head, key))}")
            lines += [f"  - {escaped(place)}" for place in places(head, key)]
        for key in [*head.side.demands][:MOST_ROWS]:
            for said, place in demanded(head, key):
                lines += [f"- {code(key)}: {escaped(said)}", f"  - {escaped(place)}"]
    open_questions = [f"{code(key)}: {escaped(why)}" for key, why in head.side.unknown.items()]
    lines += ["", "<details><summary>What a backtest does not know</summary>", ""]
    lines += [f"- {text}" for text in open_questions[:MOST_ROWS]]
    lines += [f"- {escaped(text)}" for text in (*notes, *gaps(head), *limits(results))]
    return "\n".join([*lines, "", "</details>", ""])
