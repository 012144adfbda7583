"""Shell completion.

Candidates come from the argument parsers, so a new verb needs no change here.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

MOST_FILES: Final = 2_000
_NAME: Final = re.compile(
    r"^metadata:.*?(?<![\w/.-])name: *[\"']?([\w.-]+)", re.MULTILINE | re.DOTALL
)
SHELLS: Final = ("bash", "fish", "zsh")
VARIABLE: Final = "_ARGCOMPLETE"
"""The environment variable that a shell's completion function sets (argcomplete's protocol)."""


def script(shell: str) -> str:
    """The code that a shell sources once. It calls gitops-dsf at every TAB."""
    from argcomplete.shell_integration import shellcode

    code: str = shellcode(["gitops-dsf"], shell=shell, use_defaults=True)
    return code.strip()


def words() -> list[str]:
    """The words after the program's name on the line being completed."""
    line, point = os.environ.get("COMP_LINE", ""), os.environ.get("COMP_POINT", "")
    return (line[: int(point)] if point.isdigit() else line).split()[1:]


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
        "placement": _PLACEMENTS,
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
        found: set[str] = set()
        for file in islice(root.rglob("*.y*ml"), MOST_FILES):
            with suppress(OSError):
                documents = re.split(
                    r"^---", file.read_text("utf-8", "replace"), flags=re.MULTILINE
                )
                names = (_NAME.search(text) for text in documents if kind.search(text))
                found.update(name[1] for name in names if name is not None)
        return sorted(name for name in found if name.startswith(prefix))

    return complete


def _revisions(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    import subprocess

    root = getattr(parsed_args, "directory", None) or "."
    command = ["git", "-C", str(root), "for-each-ref", "--format=%(refname:short)"]
    command += ["refs/heads", "refs/tags", "refs/remotes"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return []
    return [name for name in done.stdout.split() if name.startswith(prefix)]


_PLACEMENTS: Final = _named("apps", "ScoredApplication", "ScoredPlacement", "Placement")


def _placements_and_codes(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    from gitops_dsf.diagnostics.codes import CODES

    codes = [code for code in CODES if prefix and code.startswith(prefix.upper())]
    return [*_PLACEMENTS(prefix=prefix, parsed_args=parsed_args), *codes]


def _parts(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    rendered = Path(getattr(parsed_args, "directory", None) or ".") / "rendered"
    try:
        return sorted(
            entry.name
            for entry in rendered.iterdir()
            if entry.is_dir() and entry.name.startswith(prefix)
        )
    except OSError:
        return []
