"""Shell completion. Candidates come from the argument parsers, so a new verb or option needs no
change here.
"""

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

SHELLS: Final = ("bash", "fish", "zsh")
VARIABLE: Final = "_ARGCOMPLETE"
"""The environment variable that a shell's completion function sets (argcomplete's protocol)."""


def script(shell: str) -> str:
    """The code that a shell sources once. It calls gitops-dsf at every TAB."""
    from argcomplete.shell_integration import shellcode

    code: str = shellcode(["gitops-dsf"], shell=shell, use_defaults=True)
    return code.strip() + "\n"


def is_asked() -> bool:
    """Whether a shell asks for candidates."""
    return VARIABLE in os.environ


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
    from argcomplete.completers import DirectoriesCompleter

    by_metavar: dict[str, Callable[..., Iterable[str]]] = {"DIR": DirectoriesCompleter()}
    by_destination: dict[str, Callable[..., Iterable[str]]] = {"part": _parts}
    for action in _actions(parser):
        completer = by_destination.get(action.dest) or by_metavar.get(str(action.metavar))
        if completer is not None:
            # argcomplete expects this attribute on argparse's own objects.
            vars(action)["completer"] = completer


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            for child in action.choices.values():
                yield from _actions(child)


def _parts(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """Folders of the rendered tree."""
    rendered = Path(getattr(parsed_args, "directory", None) or ".") / "rendered"
    try:
        return sorted(
            entry.name for entry in rendered.iterdir() if entry.is_dir() and entry.name.startswith(prefix)
        )
    except OSError:
        return []
