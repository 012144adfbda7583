"""gitops-dsf explain: explains a Placement, why a cluster is in or out, what would flip that; or a code."""

import argparse
import re
import sys
import textwrap
from pathlib import Path
from typing import Final

from gitops_dsf.cli.report import entries
from gitops_dsf.diagnostics.codes import CODES, RETIRED
from gitops_dsf.errors import UsageError
from gitops_dsf.show.tables import wrapped
from gitops_dsf.wording import did_you_mean

CODE: Final = re.compile("DSF[0-9]*", re.IGNORECASE)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when there is an explanation; 1 when the repository has errors."""
    if args.cluster is None and CODE.fullmatch(args.subject):
        _explain_code(args.subject)
        return 0
    if args.cluster is not None and Path(args.cluster, "gitops-dsf.yaml").is_file():
        args.directory, args.cluster = Path(args.cluster), None
    from gitops_dsf.cli.simulate import explain_placement  # slow, and not needed for a code

    return explain_placement(args)


def _explain_code(word: str) -> None:
    """Prints the entry of a code, or lists the codes that begin so. Raises UsageError if there is none."""
    asked = word.upper()
    known = CODES.get(asked)
    if known is None:
        if asked in RETIRED:
            raise UsageError(f"{asked} is no longer reported")
        found = [code for code in CODES.values() if code.id.startswith(asked)]
        if not found:
            close = did_you_mean(asked, CODES)
            raise UsageError(
                f"there is no code {word}; {close or '`gitops-dsf explain DSF` lists all'}"
            )
        for code in found:
            sys.stdout.write(f"{code.id}  {code.severity:<7}  {code.title}\n")
        return
    entry = entries()[known.id]
    text = "\n".join(wrapped(line, indent=0) for line in entry.text.split("\n"))
    parts = [f"{known.id} {known.title} ({known.severity})", text]
    parts += [f"{head}:\n\n{textwrap.indent(example, '    ')}" for head, example in entry.examples]
    sys.stdout.write("\n\n".join(part for part in parts if part) + "\n")
