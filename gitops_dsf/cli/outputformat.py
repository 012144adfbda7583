"""`-o yaml` for every verb that prints JSON: it is the JSON as YAML."""

import argparse
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Final

YAML: Final = "yaml"


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds -o and --output to a verb that prints JSON."""
    for action in list(parser._actions):  # noqa: SLF001 - argparse has no public list of them
        if action.dest == "format" and "json" in (action.choices or ()):
            parser.add_argument(
                "-o",
                "--output",
                choices=(*(action.choices or ()), YAML),
                help="like --format; yaml is the JSON as YAML",
            )


def run_with_output(args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Runs a verb in the format of -o, if it is given."""
    wanted = getattr(args, "output", None)
    if wanted is None or not hasattr(args, "format"):
        return run(args)
    if wanted != YAML:
        args.format = wanted
        return run(args)
    args.format = "json"
    with redirect_stdout(io.StringIO()) as printed:
        code = run(args)
    sys.stdout.write(_as_yaml(printed.getvalue()))
    return code


def _as_yaml(text: str) -> str:
    import json

    import yaml

    if not text.strip():
        return ""
    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=10_000)
