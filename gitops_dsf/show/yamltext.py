"""The YAML of `-o yaml`: the content of the JSON, with texts of others on one printable line."""

import json
from typing import Any

import yaml

from dsf_wire.text import printable


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is not printable as it is, so that it can be written with escapes."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """A text in double quotes if it has characters that must be escaped."""
    style = None if printable(text) == text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(json_text: str) -> str:
    """The YAML for a JSON text."""
    content: Any = json.loads(json_text)
    # A text that is broken over lines is the same YAML, and cannot be searched for any more.
    text: str = yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000_000
    )
    # The runner of GitHub's workflows obeys such a line (`dsf_wire.text`). What is left of it is in
    # double quotes, where YAML has these escapes.
    text = text.replace("##[", "\\x23#[")
    # PyYAML 6 takes more characters for printable than Python, such as those that turn the
    # direction of writing.
    return "\n".join(map(_printable, text.split("\n")))


def _printable(line: str) -> str:
    """A line with escapes for what is not printable."""
    return line if line.isprintable() else "".join(map(_character, line))


def _character(character: str) -> str:
    return character if character.isprintable() else f"\\U{ord(character):08x}"
