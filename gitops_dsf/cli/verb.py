"""A verb of the command line: its help, its arguments, and the module that runs it."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

AddArguments: TypeAlias = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb. Its module has `run(args)`, which returns the exit code.

    The module is imported only to run the verb, so that `--help` and completion stay fast.
    """

    name: str
    help: str
    """The line of the verb in the list of verbs."""
    add_arguments: AddArguments
    description: str = ""
    examples: str = ""
    """Examples and exit codes, below the arguments. `helptext` says how they are filled."""
    module: str = ""
    """The module below gitops_dsf.cli of its name by default."""


def verb(
    name: str, line: str, *, description: str = "", examples: str = "", module: str = ""
) -> Callable[[AddArguments], Verb]:
    """Makes a verb of the function that adds its arguments.

    So the help of a verb stands above its arguments, in one place of the file.
    """

    def with_arguments(add_arguments: AddArguments) -> Verb:
        return Verb(
            name=name,
            help=line,
            add_arguments=add_arguments,
            description=description,
            examples=examples,
            module=module,
        )

    return with_arguments
