"""Lists in Markdown that say how much of them is left out."""

from collections.abc import Iterable, Iterator, Sized
from itertools import islice

from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.wording import plural


def bullets(lines: Iterable[str], entries: Sized, noun: str, limits: PageLimits) -> Iterator[str]:
    """A list of lines, one for each entry. `noun` says what an entry is."""
    for line in islice(lines, limits.rows):
        yield f"- {line}"
    yield from left_out(entries, noun, limits, prefix="- ")


def sentences(lines: Iterable[str], entries: Sized, noun: str, limits: PageLimits) -> Iterator[str]:
    """A list of sentences, each of which is cut where it is too long."""
    # Lazily: `bullets` takes the first ones, and a list can have thousands.
    shortened = (limits.plain(line[: 4 * limits.width]) for line in lines)
    yield from bullets(shortened, entries, noun, limits)


def left_out(
    entries: Sized, noun: str, limits: PageLimits, *, prefix: str = "", rows: int | None = None
) -> Iterator[str]:
    """One line that says how many entries are not shown; nothing if all are."""
    count = len(entries) - (limits.rows if rows is None else rows)
    if count <= 0:
        return
    if limits.for_comment:
        yield (
            f"{prefix}... and {plural(count, noun)} more, left out to fit a comment;"
            " `gitops-dsf diff --all` shows all"
        )
    else:
        yield f"{prefix}... and {plural(count, noun)} more; `gitops-dsf diff --all` shows all"


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section that a reader opens. `title` is HTML to a forge, so it holds no text of others."""
    # A forge reads Markdown inside of <details> only after an empty line.
    yield f"\n<details><summary>{title}</summary>\n"
    yield from lines
    yield ""
    yield "</details>"


def collapsed(
    title: str, blocks: Iterable[Iterable[str]], entries: Sized, noun: str, limits: PageLimits
) -> Iterator[str]:
    """A folded section of blocks; nothing if it has no entry."""
    if len(entries):
        yield from folded(title, _blocks(blocks, entries, noun, limits))


def _blocks(
    blocks: Iterable[Iterable[str]], entries: Sized, noun: str, limits: PageLimits
) -> Iterator[str]:
    """The lines of the first blocks, with an empty line between two."""
    for number, block in enumerate(islice(blocks, limits.rows)):
        if number:
            yield ""
        yield from block
    if len(entries) > limits.rows:
        yield ""
    yield from left_out(entries, noun, limits)
