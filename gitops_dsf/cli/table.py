"""Aligned columns of text, without colour and terminal width: the same in a terminal, a log and a pipe."""

from collections.abc import Iterable, Sequence


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), indent: int = 2
) -> str:
    """Formats rows under their headers, with two spaces between columns. Columns whose index is in `right`
    are right-aligned.
    """
    lines = [list(headers), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    aligned = frozenset(right)
    return "".join(" " * indent + _line(line, widths, aligned) + "\n" for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    padded = (
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()
