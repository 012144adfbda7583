"""Obtains the programs of the families: the user's own where they fit, else built from pinned Go modules,
once.

`python -m tests.hub.controlplane.binaries [--family kubernetes,ocm]` builds what is missing, and says where
each program came from. The cache is `$GITOPS_DSF_CACHE/hub/<family>-<hash>/{bin,<data>}`; the hash covers
go.mod, go.sum, family.toml and our own Go files, so a change of any of them builds anew. Every program
appears in the cache by a rename, so nothing there is half-written. A build that was stopped leaves what it
compiled in Go's own cache, and the next one goes on from there.

Which program is taken, first match wins: the directory that the rule's variable names (KUBEBUILDER_ASSETS);
PATH, when the rule has a minimum version and the program is at least that (not at all with
GITOPS_DSF_HUB_PATH=0); the cache.
"""

import argparse
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.hub.controlplane.family import (
    DataRule,
    Family,
    FamilyError,
    ProgramRule,
    Version,
    family_names,
    format_version,
    load_family,
    parse_version,
)
from tests.hub.controlplane.golang import Go, GoError, find_go

# Linked programs hold no debug information (-s -w), so the compiler need not make any.
GCFLAGS = "-gcflags=all=-dwarf=false"
SCRATCH = ".building-"

Report = Callable[[str], None]


class BinaryError(Exception):
    """A program cannot be had; the message says which, why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Program:
    name: str
    path: Path
    origin: str


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """The programs of one family and the data folders beside them."""

    family: str
    programs: Mapping[str, Program]
    folders: Mapping[str, Path]

    def path(self, name: str) -> Path:
        return self.programs[name].path

    def folder(self, name: str) -> Path:
        return self.folders[name]


def obtain(
    name: str, *, environment: Mapping[str, str] | None = None, report: Report | None = None
) -> Binaries:
    """Everything of one family, built if need be. Raises BinaryError, FamilyError or GoError with a message
    for people.
    """
    environment = os.environ if environment is None else environment
    report = _print if report is None else report
    family = load_family(name)
    home = family.cache(environment)
    builder = _Builder(family=family, home=home, environment=environment, report=report)
    with _locked(home):
        given = {rule.name: _given(rule, environment, report) for rule in family.programs}
        built = builder.programs([rule for rule in family.programs if given[rule.name] is None])
        folders = {rule.name: builder.folder(rule) for rule in family.data}
    programs = {rule.name: given[rule.name] or built[rule.name] for rule in family.programs}
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


def _given(rule: ProgramRule, environment: Mapping[str, str], report: Report) -> Program | None:
    """The user's own program, or None. One that a variable names but is too old is an error, never skipped
    silently.
    """
    if rule.variable and (directory := environment.get(rule.variable)):
        path = Path(directory) / rule.name
        if path.exists():
            if trouble := _too_old(rule, path):
                raise BinaryError(
                    f"{rule.variable}: {trouble}. Let it name newer programs, or unset it to have them built."
                )
            return Program(name=rule.name, path=path, origin=rule.variable)
    if rule.minimum is None or environment.get("GITOPS_DSF_HUB_PATH") == "0":
        return None
    found = shutil.which(rule.name, path=environment.get("PATH"))
    if found is None:
        return None
    if trouble := _too_old(rule, Path(found)):
        report(f"{rule.name}: {trouble}; not used")
        return None
    return Program(name=rule.name, path=Path(found), origin="PATH")


def _too_old(rule: ProgramRule, path: Path) -> str:
    """Why the program will not do, or nothing."""
    version = _version(rule, path)
    if rule.minimum is None or (version is not None and version >= rule.minimum):
        return ""
    said = format_version(version) if version else "of unknown version"
    return f"{path} is {said}, but {format_version(rule.minimum)} or newer is needed"


def _version(rule: ProgramRule, path: Path) -> Version | None:
    try:
        answer = subprocess.run(
            [str(path), *rule.version_arguments], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\d+\.\d+\.\d+", answer.stdout + answer.stderr)
    return parse_version(match.group()) if match else None


@dataclass(kw_only=True)
class _Builder:
    """Builds into the cache. Go is looked for only when something is really missing."""

    family: Family
    home: Path
    environment: Mapping[str, str]
    report: Report
    _found: Go | None = None

    def programs(self, rules: Sequence[ProgramRule]) -> dict[str, Program]:
        folder = self.home / "bin"
        if missing := [rule for rule in rules if not (folder / rule.name).exists()]:
            self._build(missing, folder)
        return {
            rule.name: Program(name=rule.name, path=folder / rule.name, origin=f"built from {rule.package}")
            for rule in rules
        }

    def folder(self, rule: DataRule) -> Path:
        target = self.home / rule.name
        if not target.exists():
            with self._scratch() as scratch:
                self._copied(rule.module, rule.folder, scratch / rule.name).rename(target)
        return target

    def _build(self, rules: Sequence[ProgramRule], folder: Path) -> None:
        """All in one call of Go: while one program is linked on one core, another still compiles."""
        names = ", ".join(rule.name for rule in rules)
        what = f"{self.family.name}: building {names}"
        self.report(what)
        started = time.monotonic()
        ldflags = " ".join(self._expanded(flag) for flag in self.family.ldflags)
        tags = ["-tags", ",".join(self.family.tags)] if self.family.tags else []
        with self._scratch() as scratch:
            built = scratch / "bin"
            built.mkdir()
            patched = self._patched(scratch)
            packages = [rule.package for rule in rules]
            self._go(
                "build",
                *patched,
                *tags,
                GCFLAGS,
                "-ldflags",
                ldflags,
                "-o",
                f"{built}{os.sep}",
                *packages,
                what=what,
            )
            folder.mkdir(exist_ok=True)
            for rule in rules:
                (built / executable(rule.package)).rename(folder / rule.name)
        self.report(f"{self.family.name}: built {names} in {time.monotonic() - started:.0f} s")

    def _copied(self, module: str, folder: str, target: Path) -> Path:
        """A copy of a module's folder. The module cache is read-only; its modes stay behind, so that the copy
        can be changed and removed.
        """
        what = f"{self.family.name}: {folder or 'all'} of {module}"
        self._go("mod", "download", module, what=what)
        source = Path(self._go("list", "-m", "-f", "{{.Dir}}", module, what=what).strip()) / folder
        shutil.copytree(source, target, copy_function=shutil.copyfile)
        for directory in [target, *target.rglob("*/")]:
            directory.chmod(0o755)
        return target

    def _patched(self, scratch: Path) -> list[str]:
        """Copies and changes modules. The flag builds with a go.mod that has the copies in the place of the
        originals: the tool chain refuses an overlay on its module cache. A text that is not there exactly
        once fails the build, so that a new version of the module cannot silently lose the change.
        """
        if not self.family.patches:
            return []
        copies: dict[str, Path] = {}
        for rule in self.family.patches:
            if rule.module not in copies:
                copies[rule.module] = self._copied(rule.module, "", scratch / f"module-{len(copies)}")
            file = copies[rule.module] / rule.file
            text = file.read_text(encoding="utf-8")
            if (count := text.count(rule.old)) != 1:
                raise BinaryError(
                    f"{rule.module}: {rule.old!r} stands {count} times in {rule.file}, not once: adapt"
                    " family.toml"
                )
            file.write_text(text.replace(rule.old, rule.new), encoding="utf-8")
        replaces = "".join(f'\nreplace {module} => "{folder}"\n' for module, folder in copies.items())
        changed, modules = scratch / "patched.mod", self.family.modules
        changed.write_text((modules / "go.mod").read_text(encoding="utf-8") + replaces, encoding="utf-8")
        shutil.copyfile(modules / "go.sum", scratch / "patched.sum")
        return [f"-modfile={changed}"]

    def _expanded(self, flag: str) -> str:
        """A linker flag with its placeholders filled in; the versions come from go.mod."""

        def value(match: re.Match[str]) -> str:
            listed = self._go(
                "list", "-m", "-f", "{{.Version}}", match.group(2), what=f"version of {match.group(2)}"
            )
            version = listed.strip()
            forms = {
                "version": version,
                "release": version.removeprefix("v"),
                "minor": str(parse_version(version)[1]),
            }
            return forms[match.group(1)]

        return re.sub(r"\{(version|release|minor):([^}]+)\}", value, flag)

    def _go(self, *arguments: str, what: str) -> str:
        if self._found is None:
            self._found = find_go(environment=self.environment, report=self.report)
            self.report(
                f"{self.family.name}: with Go {format_version(self._found.version)} from"
                f" {self._found.program}"
            )
        return self._found.run(*arguments, what=what, report=self.report, folder=self.family.modules)

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self.home) as scratch:
            yield Path(scratch)


def executable(package: str) -> str:
    """What `go build` calls the program of a package: the last element of its path, a major version aside."""
    elements = package.split("/")
    return elements[-2] if re.fullmatch(r"v\d+", elements[-1]) else elements[-1]


def _print(line: str) -> None:
    print(line, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when every program of the asked families is there, 1 when one cannot be had, 2 for wrong
    usage.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.hub.controlplane.binaries", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--family", default=",".join(family_names()), help="comma list (default: %(default)s)"
    )
    names = [name for name in parser.parse_args(arguments).family.split(",") if name]
    for name in names:
        started = time.monotonic()
        try:
            binaries = obtain(name)
        except (BinaryError, FamilyError, GoError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        for program in binaries.programs.values():
            _print(f"{name}: {program.name:24} {program.path}  ({program.origin})")
        for label, folder in binaries.folders.items():
            _print(f"{name}: {label:24} {folder}")
        _print(f"{name}: ready after {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
