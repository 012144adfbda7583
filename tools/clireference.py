"""The reference page of the command line: what every program prints with --help."""

import argparse
from collections.abc import Iterator
from functools import partial

from dsf_agent.configuration import settings
from gitops_dsf.cli.main import VERBS, verb_parser

_WIDTH = 100
_AGENT_PAGE = "operate/agent.md"


def cli_page() -> str:
    """Returns the page."""
    lines = [
        "# Command line",
        "",
        f"What `gitops-dsf VERB --help` prints, and [the agent](../../{_AGENT_PAGE}) on each cluster.",
        "",
        *(f"- [{name}](#{name}): {verb.help}" for name, verb in VERBS.items()),
        "",
    ]
    for name in VERBS:
        lines += _section(name, verb_parser(name), heading="##")
    lines += _section("gitops-dsf-agent", settings.parser(), heading="##")
    return "\n".join(lines)


def _section(name: str, parser: argparse.ArgumentParser, *, heading: str) -> Iterator[str]:
    parser.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=_WIDTH)
    yield from (f"{heading} {name}", "", "```text", parser.format_help().strip(), "```", "")
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for child, child_parser in action.choices.items():
                yield from _section(f"{name} {child}", child_parser, heading=f"{heading}#")
