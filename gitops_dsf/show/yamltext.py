"""The YAML of `-o yaml`: the same as the JSON, with texts of others on one printable line."""

import json
from typing import Any

import yaml

from dsf_wire.text import printable


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is not printable as it is, so that it can be written with escapes."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None if printable(text) == text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(json_text: str) -> str:
    """The YAML for a JSON text."""
    content: Any = json.loads(json_text)
    text: str = yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000_000
    )
    # What is left is in double quotes, where YAML has these escapes. PyYAML 6 takes more characters
    # for printable than Python, such as those that turn the direction of writing.
    text = text.replace("##[", "\\x23#[")
    return "\n".join(
        line if line.isprintable() else "".join(map(_character, line)) for line in text.split("\n")
    )


def _character(character: str) -> str:
    return character if character.isprintable() else f"\\U{ord(character):08x}"
