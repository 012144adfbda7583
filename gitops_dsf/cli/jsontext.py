"""The JSON that verbs print."""

from collections.abc import Mapping
from typing import Any

from dsf_wire.text import printable_json


def json_text(content: Mapping[str, Any]) -> str:
    """Formats JSON data for people and programs: indented, with a newline at the end."""
    import msgspec

    return printable_json(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"
