"""Text in HTML and SVG: no markup, no second line, nothing invisible."""

import html

from dsf_wire.text import printable


def escape(text: str) -> str:
    """Escapes text so that no browser reads markup in it, and no log that shows the page a
    command.
    """
    return html.escape(printable(text))
