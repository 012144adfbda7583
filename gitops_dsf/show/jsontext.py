"""JSON that people read: indented, and safe for terminals and logs."""

from collections.abc import Callable
from typing import Any

import msgspec

from dsf_wire.text import printable_json
from gitops_dsf.views.worded import Worded


def json_text(content: object, *, sentence: Callable[[Any], str] | None = None) -> str:
    """Formats what msgspec encodes as JSON: indented, with a newline at the end.

    `sentence` writes the values that are `Worded`. Texts of others cannot control a terminal or
    the runner of a pipeline: see `dsf_wire.text`.
    """

    def encode(value: object) -> str:
        # Raises for what no JSON can have, as msgspec does without a hook.
        if sentence is None or not isinstance(value, Worded):
            raise NotImplementedError(type(value))
        return sentence(value.value)

    compact = msgspec.json.encode(content, enc_hook=encode)
    return printable_json(msgspec.json.format(compact, indent=2).decode()) + "\n"
