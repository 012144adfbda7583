"""The verb `gitops-dsf explain`: explains a code, or the decision of a Placement.

For a cluster it also says what would change the decision.
"""

import argparse
import re
import sys
import textwrap
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics.code import FindingCode
from gitops_dsf.diagnostics.codes import CODES, RETIRED
from gitops_dsf.errors import UsageError
from gitops_dsf.show.tables import wrapped
from gitops_dsf.wording import did_you_mean

CODE: Final = re.compile("DSF[0-9]*")
"""Capital letters, which no name of a Placement has.

Digits are optional: `explain DSF` and `explain DSF3` list the codes that begin like this.
"""


def run(args: argparse.Namespace) -> int:
    """Returns 0 when there is an explanation; 1 when the repository has errors."""
    if args.cluster is not None and Path(args.cluster, "gitops-dsf.yaml").is_file():
        # `explain PLACEMENT FOLDER`: people name the repository as for other verbs.
        args.directory = Path(args.cluster)
        args.cluster = None
    if _is_code(args.subject, has_cluster=args.cluster is not None):
        # A code means the same in every repository, so the folder is not read.
        _explain_codes(args.subject.upper())
        return 0
    from gitops_dsf.cli.explainplacement import explain_placement  # slow, and not needed for a code

    return explain_placement(args)


def _is_code(word: str, *, has_cluster: bool) -> bool:
    """Whether a word is a code, or the beginning of some; in small letters only a code itself."""
    if CODE.fullmatch(word):
        return True
    # In small letters it may be the name of a Placement, and only a Placement has clusters.
    return not has_cluster and word.upper() in CODES.keys() | RETIRED


def _explain_codes(word: str) -> None:
    """Prints the entry of a code, or lists the codes that begin with these characters.

    Raises UsageError if there is none.
    """
    if word in CODES:
        sys.stdout.write(_entry(CODES[word]))
        return
    # Codes are not used again, so that a suppression or a link never means another finding.
    if word in RETIRED:
        raise UsageError(f"{word} is no longer reported")
    matching = [code for code in CODES.values() if code.id.startswith(word)]
    if not matching:
        hint = did_you_mean(word, CODES) or "`gitops-dsf explain DSF` lists all"
        raise UsageError(f"there is no code {word}; {hint}")
    for code in matching:
        sys.stdout.write(f"{code.id}  {code.severity:<7}  {code.title}\n")


def _entry(code: FindingCode) -> str:
    """Title, explanation and examples."""
    parts = [f"{code.id} {code.title} ({code.severity})"]
    parts.append("\n".join(wrapped(line, indent=0) for line in code.plain_explanation.split("\n")))
    for heading, example in code.examples:
        parts.append(f"{heading}:\n\n{textwrap.indent(example, '    ')}")
    return "\n\n".join(parts) + "\n"
