"""gitops-dsf explain-code: says what a code of a finding means, with examples."""

import argparse
import sys
import textwrap

DESCRIPTION = """\
Says what a code of a finding means and why it is reported, with an example that gives the finding and one
that does not. Without a code it lists all of them."""

EXAMPLES = """\
examples:
  gitops-dsf explain-code DSF310
  gitops-dsf explain-code | grep -i stickiness"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of explain-code."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("code", metavar="CODE", nargs="?", help="code of a finding, such as DSF310")


def run(args: argparse.Namespace) -> int:
    """Prints one entry, or the list. Raises UsageError for an unknown code."""
    from gitops_dsf.cli.reference import entries
    from gitops_dsf.cli.width import narrowed, terminal_width
    from gitops_dsf.diagnostics.codes import CODES
    from gitops_dsf.errors import UsageError
    from gitops_dsf.repository.model.suggestion import did_you_mean

    if args.code is None:
        for code in CODES.values():
            sys.stdout.write(f"{code.id}  {code.severity:<7}  {code.title}\n")
        return 0
    known = CODES.get(args.code.upper())
    if known is None:
        close = did_you_mean(args.code.upper(), CODES)
        msg = f"there is no code {args.code}; {close or '`gitops-dsf explain-code` lists all'}"
        raise UsageError(msg)
    entry = entries()[known.id]
    width = terminal_width()
    text = entry.text if width is None else narrowed(entry.text, width)
    parts = [f"{known.id} {known.title} ({known.severity})", text]
    parts.append(f"With this finding:\n\n{textwrap.indent(entry.bad, '    ')}")
    parts.append(f"Without it:\n\n{textwrap.indent(entry.good, '    ')}")
    sys.stdout.write("\n\n".join(part for part in parts if part) + "\n")
    return 0
