"""`gitops-dsf explain CODE`: says what a code of a finding means, with examples."""

import re
import sys
import textwrap
from typing import Final

from gitops_dsf.errors import UsageError

CODE: Final = re.compile("DSF[0-9]*", re.IGNORECASE)
"""A code, or the beginning of some."""


def explain_code(word: str) -> None:
    """Prints the entry of a code, or lists the codes that begin so. Raises UsageError if there is none."""
    from gitops_dsf.cli.reference import entries
    from gitops_dsf.cli.width import wrapped
    from gitops_dsf.diagnostics.codes import CODES
    from gitops_dsf.wording import did_you_mean

    asked = word.upper()
    known = CODES.get(asked)
    if known is None:
        found = [code for code in CODES.values() if code.id.startswith(asked)]
        if not found:
            close = did_you_mean(asked, CODES)
            msg = f"there is no code {word}; {close or '`gitops-dsf explain DSF` lists all'}"
            raise UsageError(msg)
        for code in found:
            sys.stdout.write(f"{code.id}  {code.severity:<7}  {code.title}\n")
        return
    entry = entries()[known.id]
    text = "\n".join(wrapped(line, indent=0) for line in entry.text.split("\n"))
    parts = [f"{known.id} {known.title} ({known.severity})", text]
    parts.append(f"With this finding:\n\n{textwrap.indent(entry.bad, '    ')}")
    parts.append(f"Without it:\n\n{textwrap.indent(entry.good, '    ')}")
    sys.stdout.write("\n\n".join(part for part in parts if part) + "\n")
