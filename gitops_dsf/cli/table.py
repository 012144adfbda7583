"""Aligned columns of text, without colour: the same in a log and a pipe. A terminal gets lines that fit."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from dsf_wire.text import printable
from gitops_dsf.cli.terminal import cell_lines, fitted


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), indent: int = 2
) -> str:
    """Formats rows under their headers, with two spaces between columns. Columns whose index is in `right`
    are right-aligned. Cells are made printable. If the terminal is too narrow, long cells have several lines.
    """
    lines = [[printable(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    widths = fitted(widths, around=indent + 2 * (len(headers) - 1))
    aligned = frozenset(right)
    return "".join(
        " " * indent + _line(part, widths, aligned) + "\n" for line in lines for part in _parts(line, widths)
    )


def _parts(cells: Sequence[str], widths: Sequence[int]) -> Iterable[Sequence[str]]:
    """The lines of a row, from the first lines of its cells to the last."""
    columns = [cell_lines(cell, width) for cell, width in zip(cells, widths, strict=True)]
    return zip_longest(*columns, fillvalue="")


def _line(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    padded = (
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()
