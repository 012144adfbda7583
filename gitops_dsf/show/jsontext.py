"""JSON that people read: indented, and safe for terminals and logs."""

import msgspec

from dsf_wire.text import printable_json


def json_text(content: object) -> str:
    """Formats what msgspec encodes as JSON: indented, with a newline at the end.

    Texts of others cannot control a terminal or the runner of a pipeline: see `dsf_wire.text`.
    """
    compact = msgspec.json.encode(content)
    return printable_json(msgspec.json.format(compact, indent=2).decode()) + "\n"
