"""`-o`, and its format yaml for every verb that prints JSON: it is the JSON as YAML."""

import argparse
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Final

from dsf_wire.text import printable_json

YAML: Final = "yaml"


def add_output(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Adds -o with these formats, text by default. What is JSON can be YAML, too."""
    parser.add_argument(
        "-o",
        "--output",
        choices=(*formats, YAML),
        default="text",
        help="text by default; yaml is the JSON as YAML",
    )


def run_with_output(args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Runs a verb in the format of -o, if it has one."""
    if getattr(args, "output", None) != YAML:
        return run(args)
    args.output = "json"
    with redirect_stdout(io.StringIO()) as printed:
        code = run(args)
    if text := printed.getvalue().strip():
        import json

        import yaml

        yaml.safe_dump(json.loads(text), sys.stdout, sort_keys=False, allow_unicode=True, width=10_000)
    return code


def json_text(content: object) -> str:
    """Formats what msgspec encodes as JSON for people and programs: indented, with a newline at the end."""
    import msgspec

    return printable_json(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"
