"""The notes of a release: `python -m tools.release.notes v1.2.0` prints its section of CHANGELOG.md.

It fails for a tag that is not the version of the checkout, and for a version without a section.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import version as versions


def notes(root: Path, tag: str) -> str:
    """Raises ValueError."""
    version = versions.current(root)
    if tag != f"v{version}":
        raise ValueError(f"the tag {tag} is for another version than {version} of pyproject.toml")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## \[{re.escape(version)}\][^\n]*\n(?P<text>.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL
    )
    if section is None or not section["text"].strip():
        raise ValueError(f"CHANGELOG.md has no section '## [{version}] - DATE'; rename 'Unreleased'")
    return section["text"].strip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when there are no notes for the tag."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.notes", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("tag", help="such as v1.2.0")
    parser.add_argument("--root", type=Path, default=versions.ROOT, help="the checkout (default: this one)")
    given = parser.parse_args(arguments)
    try:
        sys.stdout.write(notes(given.root, given.tag))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
