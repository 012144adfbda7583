"""Obtains the programs of the families: they are built from pinned Go modules, once.

`python -m tests.hub.controlplane.binaries [--family kubernetes,ocm]` builds what is missing, and
says where each program is. The cache is `$GITOPS_DSF_CACHE/hub/<family>-<hash>/{bin,<data>}`; the
hash covers go.mod, go.sum, family.toml and our own Go files, so a change of any of them builds
anew. Every program appears in the cache by a rename, so nothing there is half-written. A build that
was stopped leaves what it compiled in Go's own cache, and the next one goes on from there.
"""

import argparse
import fcntl
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.hub.controlplane.family import (
    DataRule,
    FamilyError,
    Rules,
    cache,
    family_names,
    load_rules,
    modules,
)
from tests.hub.controlplane.golang import GoError, find_go

# Linked programs hold no debug information (-s -w), so the compiler need not make any.
GCFLAGS = "-gcflags=all=-dwarf=false"
SCRATCH = ".building-"


class BinaryError(Exception):
    """A program cannot be had; the message says which, why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """The programs of one family and the data folders beside them."""

    family: str
    programs: Mapping[str, Path]
    folders: Mapping[str, Path]

    def path(self, name: str) -> Path:
        return self.programs[name]

    def folder(self, name: str) -> Path:
        return self.folders[name]


def obtain(name: str) -> Binaries:
    """Everything of one family, built if need be.

    Raises BinaryError, FamilyError or GoError with a message for people.
    """
    rules, home = load_rules(name), cache(name)
    builder = _Builder(name=name, rules=rules, home=home)
    with _locked(home):
        programs = builder.programs()
        folders = {label: builder.folder(label, rule) for label, rule in rules.data.items()}
    return Binaries(family=name, programs=programs, folders=folders)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Create the folder and lock it: two runs at once build one after the other, not twice."""
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in folder.glob(f"{SCRATCH}*"):  # of a build that was killed
            shutil.rmtree(left)
        yield


@dataclass(kw_only=True)
class _Builder:
    """Builds into the cache. Go is looked for only when something is really missing."""

    name: str
    rules: Rules
    home: Path

    def programs(self) -> dict[str, Path]:
        found = {name: self.home / "bin" / name for name in self.rules.programs}
        if missing := [name for name, path in found.items() if not path.exists()]:
            self._build(missing, self.home / "bin")
        return found

    def folder(self, label: str, rule: DataRule) -> Path:
        target = self.home / label
        if not target.exists():
            with self._scratch() as scratch:
                self._copied(rule.module, rule.folder, scratch / label).rename(target)
        return target

    def _build(self, names: Sequence[str], folder: Path) -> None:
        """All in one call of Go: while one program is linked on one core, another still
        compiles.
        """
        what, started = f"{self.name}: building {', '.join(names)}", time.monotonic()
        print(what, flush=True)
        ldflags = " ".join(self._expanded(flag) for flag in self.rules.ldflags)
        tags = ["-tags", ",".join(self.rules.tags)] if self.rules.tags else []
        packages = [self.rules.programs[name].package for name in names]
        with self._scratch() as scratch:
            built = scratch / "bin"
            built.mkdir()
            flags = [*self._patched(scratch), *tags, GCFLAGS, "-ldflags", ldflags]
            self._go("build", *flags, "-o", f"{built}{os.sep}", *packages, what=what)
            folder.mkdir(exist_ok=True)
            for name, package in zip(names, packages, strict=True):
                (built / executable(package)).rename(folder / name)
        print(f"{what}: {time.monotonic() - started:.0f} s", flush=True)

    def _copied(self, module: str, folder: str, target: Path) -> Path:
        """A copy of a module's folder.

        The module cache is read-only; its modes stay behind, so that the copy can be changed and
        removed.
        """
        what = f"{self.name}: {folder or 'all'} of {module}"
        self._go("mod", "download", module, what=what)
        source = Path(self._go("list", "-m", "-f", "{{.Dir}}", module, what=what).strip()) / folder
        shutil.copytree(source, target, copy_function=shutil.copyfile)
        for directory in [target, *target.rglob("*/")]:
            directory.chmod(0o755)
        return target

    def _patched(self, scratch: Path) -> list[str]:
        """Copies and changes modules.

        The flag builds with a go.mod that has the copies in the place of the originals: the tool
        chain refuses an overlay on its module cache. A text that is not there exactly once fails
        the build, so that a new version of the module cannot silently lose the change.
        """
        if not self.rules.patches:
            return []
        copies: dict[str, Path] = {}
        for rule in self.rules.patches:
            if rule.module not in copies:
                copies[rule.module] = self._copied(
                    rule.module, "", scratch / f"module-{len(copies)}"
                )
            file = copies[rule.module] / rule.file
            text = file.read_text(encoding="utf-8")
            if (count := text.count(rule.old)) != 1:
                raise BinaryError(
                    f"{rule.module}: {rule.old!r} stands {count} times in {rule.file},"
                    " not once: adapt"
                    " family.toml"
                )
            file.write_text(text.replace(rule.old, rule.new), encoding="utf-8")
        replaces = "".join(
            f'\nreplace {module} => "{folder}"\n' for module, folder in copies.items()
        )
        changed, folder = scratch / "patched.mod", modules(self.name)
        changed.write_text(
            (folder / "go.mod").read_text(encoding="utf-8") + replaces, encoding="utf-8"
        )
        shutil.copyfile(folder / "go.sum", scratch / "patched.sum")
        return [f"-modfile={changed}"]

    def _expanded(self, flag: str) -> str:
        """A linker flag with its placeholders filled in; the versions come from go.mod."""

        def value(match: re.Match[str]) -> str:
            module = match[2]
            version = self._go(
                "list", "-m", "-f", "{{.Version}}", module, what=f"version of {module}"
            ).strip()
            forms = {
                "version": version,
                "release": version.removeprefix("v"),
                "minor": version.split(".")[1],
            }
            return forms[match[1]]

        return re.sub(r"\{(version|release|minor):([^}]+)\}", value, flag)

    def _go(self, *arguments: str, what: str) -> str:
        return find_go().run(*arguments, what=what, folder=modules(self.name))

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self.home) as scratch:
            yield Path(scratch)


def executable(package: str) -> str:
    """What `go build` calls the program of a package: the last element of its path, a major version
    aside.
    """
    elements = package.split("/")
    return elements[-2] if re.fullmatch(r"v\d+", elements[-1]) else elements[-1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when every program of the asked families is there, 1 when one cannot be had, 2
    for wrong usage.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.hub.controlplane.binaries", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--family", default=",".join(family_names()), help="comma list (default: %(default)s)"
    )
    for name in filter(None, parser.parse_args(arguments).family.split(",")):
        try:
            binaries = obtain(name)
        except (BinaryError, FamilyError, GoError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        for label, path in {**binaries.programs, **binaries.folders}.items():
            print(f"{name}: {label:24} {path}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
