"""`-o FORMAT` for every verb that has `--format` with JSON. YAML and names are made of the JSON."""

import argparse
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Final

from gitops_dsf.cli.names import NAMES, names

YAML: Final = "yaml"
NAME: Final = "name"


def add_output(parser: argparse.ArgumentParser, *, verb: str) -> None:
    """Adds -o and --output to a verb that prints JSON."""
    listed, _ = NAMES.get(verb, ("", None))
    for action in list(parser._actions):  # noqa: SLF001 - argparse has no public list of them
        if action.dest == "format" and "json" in (action.choices or ()):
            parser.add_argument(
                "-o",
                "--output",
                choices=(*(action.choices or ()), YAML, NAME),
                help=f"like --format; yaml is the JSON as YAML; name prints one name per line: {listed}",
            )


def run_with_output(args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Runs a verb in the format of -o, if it is given."""
    wanted = getattr(args, "output", None)
    if wanted is None or not hasattr(args, "format"):
        return run(args)
    if wanted not in {YAML, NAME}:
        args.format = wanted
        return run(args)
    args.format = "json"
    with redirect_stdout(io.StringIO()) as printed:
        code = run(args)
    text = printed.getvalue()
    sys.stdout.write(_as_yaml(text) if wanted == YAML else _as_names(text, args.verb))
    return code


def _as_yaml(text: str) -> str:
    import json

    import yaml

    if not text.strip():
        return ""
    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=10_000)


def _as_names(text: str, verb: str) -> str:
    import json

    return "".join(f"{name}\n" for name in names(verb, json.loads(text))) if text.strip() else ""
