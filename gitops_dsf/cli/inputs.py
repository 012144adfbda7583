"""Inputs that verbs read first: the folder of a fleet, a named file, the context of a hub."""

import argparse
import sys
from pathlib import Path
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.errors import RepositoryError, UsageError

STANDARD_INPUT: Final = "-"


def check_is_folder(directory: Path, hint: str = "") -> None:
    """Raises UsageError if there is no such folder. `hint` ends the message."""
    if not directory.is_dir():
        raise UsageError(
            f"{directory} is not a folder; write the folder that holds gitops-dsf.yaml{hint}"
        )


def check_has_settings(directory: Path) -> None:
    """Raises UsageError if the folder has no gitops-dsf.yaml."""
    # It comes with the reader of YAML, which `chosen_context` does not need.
    from gitops_dsf.repository.load.paths import SETTINGS_FILE

    if not (directory / SETTINGS_FILE).is_file():
        raise UsageError(
            f"{directory} holds no gitops-dsf.yaml; name a fleet repository, or make one with"
            " gitops-dsf init"
        )


def read_named(name: str, hint: str = "") -> bytes:
    """Returns the content of a file, or of standard input for `-`.

    Raises RepositoryError if it cannot be read or is not UTF-8. `hint` ends the second message.
    """
    # Without a word it would look as if the verb hung.
    if name == STANDARD_INPUT and sys.stdin.isatty():
        print("reading standard input; end it with Ctrl-D", file=sys.stderr)
    try:
        content = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
        # Only to know: the readers of YAML take bytes, and know the mark at their beginning.
        content.decode()
    except UnicodeDecodeError as error:
        raise RepositoryError(f"{name} is not UTF-8 (byte {error.start}){hint}") from error
    except OSError as error:
        raise RepositoryError(f"{name} cannot be read: {error.strerror or error}") from error
    return content


def chosen_context(args: argparse.Namespace) -> str:
    """Returns the context of --context, or the current one, which is printed.

    Raises UsageError if there is neither, and HubError if the kubeconfig cannot be read.
    """
    from gitops_dsf.hubreader.hub import current_context

    if args.context:
        return str(args.context)
    # The context that is current is easily forgotten, and some verbs write to the hub. So it is
    # printed below.
    context = current_context(args.kubeconfig)
    if context is None:
        raise UsageError(
            "there is no current context: name the hub with --context, or run kubectl config"
            " use-context"
        )
    print(printable(f"hub: {context} (the current context)"), file=sys.stderr)
    return context
