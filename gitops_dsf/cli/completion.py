"""gitops-dsf completion: prints the code that makes a shell complete verbs, options and their values."""

import argparse
import sys

from gitops_dsf.cli.shell_completion import SHELLS

EPILOG = """\
bash   add to ~/.bashrc:                     source <(gitops-dsf completion bash)
zsh    add to ~/.zshrc, after compinit:      source <(gitops-dsf completion zsh)
fish   once:  gitops-dsf completion fish > ~/.config/fish/completions/gitops-dsf.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of completion."""
    parser.description = (
        "Prints the code for a shell. It asks gitops-dsf at every TAB, so it need not be renewed after an"
        " update."
    )
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read the code")


def run(arguments: argparse.Namespace) -> int:
    """Prints the code."""
    from gitops_dsf.cli.shell_completion import script

    sys.stdout.write(script(arguments.shell))
    return 0
