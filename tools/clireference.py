"""The reference page of the command line: every verb with its arguments, made from the parsers."""

import argparse
from collections.abc import Iterator
from typing import Final

from dsf_agent.configuration import settings
from gitops_dsf.cli.main import EPILOG, VERBS, verb_parser

_AGENT_PAGE: Final = "operate/agent.md"
_OF_EVERY_VERB: Final = frozenset({"help", "debug"})


def cli_page() -> str:
    """Returns the page."""
    lines = [
        "# Command line",
        "",
        "`gitops-dsf VERB --help` prints the same. Each verb takes `--help`, and `--debug` for tracebacks.",
        f"{EPILOG.splitlines()[-1]}",
        "",
        "| verb | what it does |",
        "|---|---|",
        *(f"| [{name}](#{name}) | {_cell(verb.help)} |" for name, verb in VERBS.items()),
        "",
    ]
    for name in VERBS:
        lines += _section(name, verb_parser(name), heading="##")
    lines += [
        "## gitops-dsf-agent",
        "",
        f"The program on each cluster: [the agent](../../{_AGENT_PAGE}). Brackets: variable and default.",
        "",
    ]
    lines += _verbs_below("gitops-dsf-agent", settings.parser(), heading="##")
    return "\n".join(lines)


def _section(name: str, parser: argparse.ArgumentParser, *, heading: str) -> Iterator[str]:
    yield from (f"{heading} {name}", "")
    if parser.description:
        yield from (parser.description, "")
    rows = list(_rows(parser))
    if rows:
        yield from ("| argument | meaning |", "|---|---|", *rows, "")
    if parser.epilog:
        yield from ("```text", parser.epilog.strip("\n"), "```", "")
    yield from _verbs_below(name, parser, heading=heading)


def _verbs_below(name: str, parser: argparse.ArgumentParser, *, heading: str) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for child, child_parser in action.choices.items():
                yield from _section(f"{name} {child}", child_parser, heading=f"{heading}#")


def _rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = argparse.HelpFormatter(prog=parser.prog)
    for action in parser._actions:  # noqa: SLF001
        shown = action.dest not in _OF_EVERY_VERB and action.help != argparse.SUPPRESS
        if shown and not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            meaning = formatter._expand_help(action) if action.help else ""  # noqa: SLF001
            yield f"| `{_cell(_invocation(action))}` | {_cell(meaning)} |"


def _invocation(action: argparse.Action) -> str:
    """The spelling of an argument, such as `-o, --output FORMAT`."""
    value = ""
    if action.nargs != 0:
        choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
        metavar = action.metavar if isinstance(action.metavar, str) else None
        value = metavar or choices or (action.dest.upper() if action.option_strings else action.dest)
        if action.nargs in {"*", "+", argparse.REMAINDER}:
            value += "..."
    return " ".join(filter(None, (", ".join(action.option_strings), value)))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
