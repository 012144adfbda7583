"""The JSON that verbs print."""

from dsf_wire.text import printable_json


def json_text(content: object) -> str:
    """Formats what msgspec encodes as JSON for people and programs: indented, with a newline at the end."""
    import msgspec

    return printable_json(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"
