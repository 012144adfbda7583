"""One-literal changes to a pinned module at build time, by the `-overlay` flag of `go build`.

For programs that offer no flag for something the suite must have, such as an address to listen on. The module cache
stays as it is; the changed copy lives in the build's scratch folder. A literal that is not there exactly once fails the
build, so that a new version of the module cannot silently lose the change.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


class OverlayError(Exception):
    """A source file does not hold the text that is to be replaced exactly once."""


@dataclass(frozen=True, kw_only=True)
class OverlayRule:
    """In `file` of `module`, `old` becomes `new`."""

    module: str
    file: str
    old: str
    new: str


def write_overlay(rules: Sequence[OverlayRule], *, folder: Path, module_folder: Callable[[str], Path]) -> Path:
    """Write the changed files and the overlay that names them into `folder`; returns the overlay's path.

    At most one rule per file. Format: `go help build`, flag -overlay.
    """
    replaced: dict[str, str] = {}
    for index, rule in enumerate(rules):
        source = module_folder(rule.module) / rule.file
        text = source.read_text(encoding="utf-8")
        if (count := text.count(rule.old)) != 1:
            raise OverlayError(f"{rule.module}: {rule.old!r} stands {count} times in {rule.file}, not once: adapt family.toml")
        changed = folder / f"overlay-{index}.go"
        changed.write_text(text.replace(rule.old, rule.new), encoding="utf-8")
        replaced[str(source)] = str(changed)
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"Replace": replaced}), encoding="utf-8")
    return overlay
