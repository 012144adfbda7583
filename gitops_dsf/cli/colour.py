"""Whether to colour what a verb prints."""

import os
from typing import TextIO


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and NO_COLOR (https://no-color.org) is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
