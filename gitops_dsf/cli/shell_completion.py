"""Completes words of the command line in a shell.

Candidates come from the argument parsers, so a new verb needs no change here. A shell waits for the
answer at every TAB, so names are searched for in texts, and nothing is parsed.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

SHELLS: Final = ("bash", "fish", "zsh")
VARIABLE: Final = "_ARGCOMPLETE"
"""The environment variable that a shell's completion function sets (argcomplete's protocol)."""
MAX_FILES: Final = 2_000
"""Files that are searched for names."""

_DOCUMENT_START: Final = re.compile(r"^---", re.MULTILINE)
# The first `name` behind `metadata`, in block or in flow style. What stands before it excludes keys
# that end with "name", such as `clusterName`.
_NAME: Final = re.compile(
    r"^metadata:.*?(?<![\w/.-])name: *[\"']?([\w.-]+)", re.MULTILINE | re.DOTALL
)


def script(shell: str) -> str:
    """The code that a shell sources once. It calls gitops-dsf at every TAB."""
    # Late, as all of argcomplete: every command imports this module, and few complete a word.
    from argcomplete.shell_integration import shellcode

    code: str = shellcode(["gitops-dsf"], shell=shell, use_defaults=True)
    return code.strip()


def words() -> list[str]:
    """The words after the program's name on the line being completed."""
    line = os.environ.get("COMP_LINE", "")
    cursor = os.environ.get("COMP_POINT", "")
    # The words behind the cursor may be an older command that is being edited.
    if cursor.isdigit():
        line = line[: int(cursor)]
    return line.split()[1:]


def answer(parser: argparse.ArgumentParser) -> None:
    """Prints the candidates for the shell and ends the process."""
    import argcomplete

    _give_completers(parser)
    argcomplete.autocomplete(parser, always_complete_options="long")


def _give_completers(parser: argparse.ArgumentParser) -> None:
    from argcomplete.completers import DirectoriesCompleter, FilesCompleter

    by_metavar: dict[str, Callable[..., Iterable[str]]] = {
        "DIR": DirectoriesCompleter(),
        "DIR|FILE": FilesCompleter(("yaml", "yml")),
        "REV": _revisions,
    }
    by_destination: dict[str, Callable[..., Iterable[str]]] = {
        "part": _parts,
        "placement": _placements,
        "cluster": _named("clusters", "ManagedCluster"),
        "scorer": _named("scorers", "DynamicScorer"),
        "subject": _placements_and_codes,
    }
    for action in actions(parser):
        completer = by_destination.get(action.dest) or by_metavar.get(str(action.metavar))
        if completer is not None:
            # argcomplete expects this attribute on argparse's own objects.
            vars(action)["completer"] = completer


def actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    """The arguments of a parser, and of its verbs and actions."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            for child in action.choices.values():
                yield from actions(child)


def _named(folder: str, *kinds: str) -> Callable[..., list[str]]:
    """Completes names of objects by a search of texts, because a shell waits for the answer."""
    kind = re.compile(rf"^kind: *[\"']?(?:{'|'.join(kinds)})\b", re.MULTILINE)

    def complete(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
        root = Path(getattr(parsed_args, "directory", None) or ".") / folder
        names: set[str] = set()
        for file in islice(root.rglob("*.y*ml"), MAX_FILES):
            # A file that cannot be read has no candidates. `validate` says what is wrong with it.
            with suppress(OSError):
                for document in _DOCUMENT_START.split(file.read_text("utf-8", "replace")):
                    name = _NAME.search(document)
                    if name is not None and kind.search(document):
                        names.add(name[1])
        return sorted(name for name in names if name.startswith(prefix))

    return complete


def _revisions(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    import subprocess

    root = getattr(parsed_args, "directory", None) or "."
    command = ["git", "-C", str(root), "for-each-ref", "--format=%(refname:short)"]
    command += ["refs/heads", "refs/tags", "refs/remotes"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    # An error would be printed into the command line that is being typed.
    except (OSError, subprocess.SubprocessError):
        return []
    return [name for name in done.stdout.split() if name.startswith(prefix)]


def _placements(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    complete = _named("apps", "ScoredApplication", "ScoredPlacement", "Placement")
    return list(complete(prefix=prefix, parsed_args=parsed_args))


def _placements_and_codes(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    from gitops_dsf.diagnostics.codes import CODES

    # Before a first letter the list of all codes would hide the Placements.
    codes = [code for code in CODES if prefix and code.startswith(prefix.upper())]
    return [*_placements(prefix, parsed_args), *codes]


def _parts(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    rendered = Path(getattr(parsed_args, "directory", None) or ".") / "rendered"
    try:
        names = [entry.name for entry in rendered.iterdir() if entry.is_dir()]
    except OSError:
        return []
    return sorted(name for name in names if name.startswith(prefix))
