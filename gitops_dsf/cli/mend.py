"""What `validate --fix` does: it edits the files of findings whose hint leaves nothing to decide."""

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.write import read_text, write_file
from gitops_dsf.repository.yamledit import YamlFile


def mend(diagnostics: Iterable[Diagnostic]) -> bool:
    """Writes the edits of findings into their files, and says so. Returns False if nothing changed."""
    by_file: dict[str, list[Diagnostic]] = defaultdict(list)
    for item in diagnostics:
        if item.edits:
            by_file[item.position.file].append(item)
    changed = False
    for name, items in by_file.items():
        text = read_text(Path(), name)
        new, done = mended(text, items)
        if new == text:
            continue
        write_file(Path(name), new)
        changed = True
        for item in sorted(done, key=lambda item: item.position):
            sys.stderr.write(printable(f"{item.position}: fixed: {item.message}; {item.hint}") + "\n")
    return changed


def mended(text: str, findings: Iterable[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text of a file with the edits of its findings, and the findings whose edits could be made."""
    file = YamlFile(text)
    # What is inside of a renamed field is edited by its present path, so it comes first.
    ordered = sorted(
        (item for item in findings if item.edits),
        key=lambda item: (-len(item.edits[0].path), len(item.edits[0].to), item.message),
    )
    done = [item for item in ordered if file.edit(item.position.line, item.edits)]
    return file.text, done
