"""Changes of literal text in a pinned module at build time.

For programs that offer no flag for something the suite must have, such as an address to listen on, and for
libraries whose interfaces changed between the version that a program was written for and the one in go.mod.
The module is copied into the build's scratch folder, changed there, and put in the place of the original by a
`replace` in a copy of go.mod (`go build -modfile`; the tool chain refuses an overlay on its module cache). A
literal that is not there exactly once fails the build, so that a new version of the module cannot silently
lose the change.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


class PatchError(Exception):
    """A source file does not hold the text that is to be replaced exactly once."""


@dataclass(frozen=True, kw_only=True)
class PatchRule:
    """In `file` of `module`, `old` becomes `new`."""

    module: str
    file: str
    old: str
    new: str


def write_patched(
    rules: Sequence[PatchRule], *, modules: Path, scratch: Path, module_folder: Callable[[str], Path]
) -> Path:
    """Copy and change modules of `modules`/go.mod; returns a go.mod (its go.sum beside it) that builds with
    the copies.
    """
    copies: dict[str, Path] = {}
    for rule in rules:
        if rule.module not in copies:
            copies[rule.module] = _copied(module_folder(rule.module), scratch / f"module-{len(copies)}")
        file = copies[rule.module] / rule.file
        text = file.read_text(encoding="utf-8")
        if (count := text.count(rule.old)) != 1:
            raise PatchError(
                f"{rule.module}: {rule.old!r} stands {count} times in {rule.file}, not once: adapt"
                " family.toml"
            )
        file.write_text(text.replace(rule.old, rule.new), encoding="utf-8")
    replaces = "".join(f'\nreplace {module} => "{folder}"\n' for module, folder in copies.items())
    changed = scratch / "patched.mod"
    changed.write_text((modules / "go.mod").read_text(encoding="utf-8") + replaces, encoding="utf-8")
    shutil.copyfile(modules / "go.sum", scratch / "patched.sum")
    return changed


def _copied(source: Path, target: Path) -> Path:
    """The module cache is read-only; its modes stay behind, so that the copy can be changed and removed."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for directory in [target, *target.rglob("*/")]:
        directory.chmod(0o755)
    return target
