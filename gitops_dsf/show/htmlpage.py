"""The frame of an HTML page that loads nothing.

A page is opened from a folder or as an artifact of a pipeline. Its policy forbids scripts and every
request, so it shows nobody what is read, whatever texts of others it holds.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from gitops_dsf.show.markup import escape

STYLE: Final = Path(__file__).with_name("style.css")
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


class Fact(NamedTuple):
    """A short fact: a value and what it is."""

    value: str
    what: str


def document(title: str, body: str) -> str:
    """A whole page. `title` is text, `body` is HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{STYLE.read_text('utf-8')}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def section(heading: str, note: str, content: str, *, anchor: str = "") -> str:
    """A box of the page. `note` and `content` are HTML, `anchor` is its ID."""
    html = f'<section id="{anchor}">' if anchor else "<section>"
    html += f"<h2>{escape(heading)}</h2>"
    if note:
        html += f'<p class="muted">{note}</p>'
    return html + content + "</section>"


def facts(shown: Iterable[Fact]) -> str:
    """Facts side by side."""
    entries = ""
    for fact in shown:
        entries += f"<li><b>{escape(fact.value)}</b><span>{escape(fact.what)}</span></li>"
    return f'<ul class="facts">{entries}</ul>'


def listed(texts: Iterable[str]) -> str:
    """A list of texts; nothing without texts."""
    entries = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{entries}</ul>" if entries else ""


def number_titles(titles: Sequence[str]) -> str:
    """Cells of a table's head above columns of numbers."""
    return "".join(f"<th class='n'>{escape(title)}</th>" for title in titles)


def number_cells(values: Sequence[object]) -> str:
    """Cells with numbers, aligned to the right."""
    return "".join(f"<td class='n'>{escape(str(value))}</td>" for value in values)
