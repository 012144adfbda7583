"""Pages of sections with sentences and tables, for `diff`, `simulate` and `explain`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitops_dsf.show.pages.kit import Fact, render


class Notice(NamedTuple):
    """A sentence at the top."""

    state: str
    """The severity: ok, unknown, warning or error."""
    message: str
    more: str = ""


class TableColumn(NamedTuple):
    """A column of a table."""

    title: str
    number: bool = False
    """Whether its cells are numbers, which are aligned to the right."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table. The first cell of a row names the row."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]
    title: str = ""
    folded: bool = False
    """Whether a reader opens it."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A box of the page."""

    heading: str
    note: str = ""
    lines: Sequence[str] = ()
    tables: Sequence[Table] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it has no content."""
        return not (self.note or self.lines or self.max_rows)

    @property
    def max_rows(self) -> int:
        """Rows of its longest table."""
        return max((len(table.rows) for table in self.tables), default=0)


def report(
    *,
    verb: str,
    title: str,
    lead: str,
    notices: Sequence[Notice],
    sections: Sequence[Section],
    facts: Sequence[Fact] = (),
) -> str:
    """The whole page. Empty sections are left out."""
    visible: list[Section] = []
    is_searched = False
    for section in sections:
        if section.is_empty:
            continue
        visible.append(section)
        # Fewer rows are all in view, and a field for a search would only take their room.
        is_searched = is_searched or section.max_rows > 5
    return render(
        "report.html",
        verb=verb,
        title=title,
        lead=lead,
        notices=notices,
        facts=facts,
        sections=visible,
        searched=is_searched,
    )


def columns(*titles: str, numbers: Sequence[str] = ()) -> tuple[TableColumn, ...]:
    """Columns with these titles. `numbers` are the titles of those with numbers."""
    return tuple(TableColumn(title, title in numbers) for title in titles)
