"""The frame of a page: head, style, and a Content-Security-Policy that lets it load nothing."""

from html import escape
from pathlib import Path
from typing import Final

STYLE: Final = Path(__file__).with_name("style.css")
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def document(title: str, body: str) -> str:
    """A whole page. `title` is text, `body` is HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{escape(title)}</title>'
        f"<style>{STYLE.read_text('utf-8')}</style></head><body>{body}</body></html>\n"
    )


def section(heading: str, note: str, content: str) -> str:
    """A box of the page. `note` and `content` are HTML."""
    below = f'<p class="muted">{note}</p>' if note else ""
    return f"<section><h2>{escape(heading)}</h2>{below}{content}</section>"


def facts(pairs: list[tuple[str, str]]) -> str:
    """Short facts side by side: a value and what it is."""
    return f'<ul class="facts">{"".join(f"<li><b>{escape(value)}</b><span>{escape(what)}</span></li>" for value, what in pairs)}</ul>'  # noqa: E501
