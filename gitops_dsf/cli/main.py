"""The entry point: the list of verbs, and the exit code of every ending.

Exit codes: 0 success; 1 errors in the repository, drift, or something that cannot be read; 2 wrong
usage; 3 a bug of gitops-dsf; 130 interrupted.

Guaranteed: every exception becomes one of these codes and a message on standard error, and a
traceback is shown only with --debug.
"""

import argparse
import atexit
import errno
import gc
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from io import StringIO, TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from dsf_wire.text import printable_lines
from gitops_dsf import __version__
from gitops_dsf.cli import shell_completion
from gitops_dsf.cli.arguments import YAML
from gitops_dsf.cli.helptext import HelpFormatter
from gitops_dsf.cli.verb import Verb
from gitops_dsf.cli.verbs import decide, hub, write
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.published import REPOSITORY

OK: Final = 0
FINDINGS: Final = 1
USAGE: Final = 2
BUG: Final = 3
INTERRUPTED: Final = 130
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of a full or broken disk behind standard output."""
_USER_OF_URL: Final = re.compile(r"^(https?://)[^/?#]*@")
"""Scheme, user and password of a URL."""


GROUPS: Final = {
    "Write": write.VERBS,
    "Decide": decide.VERBS,
    "Hub": hub.VERBS,
    "Run in the cluster": hub.PROGRAMS,
}
VERBS: Final[dict[str, Verb]] = {verb.name: verb for group in GROUPS.values() for verb in group}
"""A verb must be listed here to exist."""

DESCRIPTION: Final = """\
Score-driven placement for Open Cluster Management, the GitOps way: scorers,
masks and applications are YAML in git; gitops-dsf checks them and renders the
tree that Argo CD applies to the hub."""

EPILOG: Final = """\
A first session:
  gitops-dsf init fleet && cd fleet     a repository that is valid as it is
  gitops-dsf validate                   every mistake, and what to write instead
  gitops-dsf render                     the tree for Argo CD, in rendered/

Completion of verbs, options and names:
  source <(gitops-dsf --completion bash)  bash: add it to ~/.bashrc
  source <(gitops-dsf --completion zsh)   zsh: add it to ~/.zshrc, after compinit
  gitops-dsf --completion fish > ~/.config/fish/completions/gitops-dsf.fish
                                          fish: run it once

`gitops-dsf VERB --help` explains a verb with examples.

Exit codes: 0 fine, 1 errors or drift, 2 wrong usage, 3 a bug of gitops-dsf, 130 interrupted."""

EXIT_CODES: Final = """\
exit codes: 0 fine, 1 errors, 2 wrong usage, 3 a bug of gitops-dsf, 130 interrupted"""
"""Exit codes for the help of every verb that does not list its own."""

_OPTIONS_OF_PARSERS: Final[dict[str, Any]] = {
    "formatter_class": HelpFormatter,
    # A pipeline that abbreviates an option breaks when another one begins with the same letters,
    # and `without_secrets` knows options by their whole names.
    "allow_abbrev": False,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; never raises.

    Without `argv` the process ends after it.
    """
    # With arguments it is called within a process that goes on: by `ci`, by tests, by the demo.
    if argv is not None:
        return exit_code_of(argv)
    # Documents, models, files and the objects of a hub are trees, which reference counting frees.
    # For 2,000 clusters the collector took 6 % of a render. Verbs that run for long enable it
    # again.
    gc.disable()
    # Else pydantic 2 looks for plug-ins in every installed distribution: 10 ms and 0.8 MB.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    code = exit_code_of(sys.argv[1:])
    # At its end the interpreter searches the whole heap for cycles, which took 70 ms after
    # `validate` of a small repository, and frees each object. The system frees the memory anyway.
    atexit.register(_end, code)
    return code


def _end(code: int) -> None:
    # If the output cannot be written, the interpreter reports it.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def exit_code_of(arguments: Sequence[str], run: Callable[[], int] | None = None) -> int:
    """Runs one command, says why it failed, and returns its exit code; never raises.

    `run` is called in its place, for a caller that has the objects that the command would build
    again.
    """
    # Looked for before argparse runs, which can fail as well.
    debug = "--debug" in arguments
    # Manifests, JSON and SARIF are always UTF-8. The locale of pipelines and containers is often
    # ASCII.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _run(arguments) if run is None else run()
        # Within the try: a full disk or a closed pipe often shows only when the buffer is written.
        sys.stdout.flush()
    except SystemExit as error:
        # argparse ends like this after --help, --version and its own usage errors.
        return error.code if isinstance(error.code, int) else USAGE
    except KeyboardInterrupt:
        _print_error("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe (`| head`). Without this, the interpreter reports the error
        # again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except GitopsDsfError as error:
        if debug:
            traceback.print_exc()
        _print_error(f"error: {error}")
        return USAGE if isinstance(error, UsageError) else FINDINGS
    except OSError as error:
        if _has_no_directory():
            _print_error(
                "error: the working directory was deleted; change into a folder that is there"
            )
            return FINDINGS
        # Other errors of files are raised as GitopsDsfError where the file is known. One that gets
        # here was not expected.
        if error.errno not in _NO_ROOM:
            return _bug(error, arguments, debug=debug)
        _print_error(f"error: cannot write: {error.strerror}")
        # As for a closed pipe: what is left in the buffer would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except Exception as error:  # noqa: BLE001 - the one place where a bug becomes a report
        return _bug(error, arguments, debug=debug)
    return code


def _has_no_directory() -> bool:
    """Whether the working directory was deleted, so that relative paths do not resolve."""
    try:
        Path.cwd()
    except OSError:
        return True
    return False


def _run(arguments: Sequence[str]) -> int:
    completing = shell_completion.VARIABLE in os.environ
    arguments = shell_completion.words() if completing else _verb_first(arguments)
    verb = next((word for word in arguments if not word.startswith("-")), None)
    # `gitops-dsf --completion bash`: the word is the shell.
    if arguments[:1] == ["--completion"]:
        verb = None
    # argparse would list the verbs, and suggest none.
    if verb is not None and verb not in VERBS and not completing:
        from gitops_dsf.wording import did_you_mean

        suggestion = did_you_mean(verb, VERBS) or f"the verbs are {', '.join(VERBS)}"
        raise UsageError(f"there is no verb {verb or repr(verb)}; {suggestion}")
    if verb is not None and not completing and arguments[0] == verb:
        # To make the parser of one verb is fast. The names of the others are only needed to
        # complete a word, and where the verb is not the first one.
        parser = verb_parser(verb)
        arguments = arguments[1:]
    else:
        parser = _parser(verb if verb in VERBS else None)
    if completing:
        shell_completion.answer(parser)
    # parse_args would only say "unrecognized arguments", without the option that was meant.
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise UsageError(_no_such_argument(unknown[0], verb, parser))
    if args.verb is None and args.completion:
        print(shell_completion.script(args.completion))
        return OK
    if args.verb is None:
        parser.print_help()
        return USAGE
    program = import_module(VERBS[args.verb].module or f"gitops_dsf.cli.{args.verb}")
    return _run_in_format(args, program.run)


def _run_in_format(args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Runs a verb in the format of -o, if it has one."""
    if getattr(args, "output", None) != YAML:
        return run(args)
    # The output is the JSON of the verb written as YAML, so no verb has to know a third format.
    args.output = "json"
    with redirect_stdout(StringIO()) as printed:
        code = run(args)
    if text := printed.getvalue().strip():
        from gitops_dsf.show.yamltext import yaml_text

        sys.stdout.write(yaml_text(text))
    return code


def _verb_first(arguments: Sequence[str]) -> Sequence[str]:
    """Moves -o, --output and --debug behind the verb and its first words.

    People write them in front of it, and argparse reads them only behind it.
    """
    index = 0
    while index < len(arguments) and arguments[index].startswith(("-o", "--output", "--debug")):
        index += 1 + (arguments[index] in {"-o", "--output"})
    words = takewhile(lambda word: not word.startswith("-"), arguments[index:])
    end = index + len(list(words))
    return [*arguments[index:end], *arguments[:index], *arguments[end:]]


def _no_such_argument(word: str, verb: str | None, parser: argparse.ArgumentParser) -> str:
    from gitops_dsf.wording import did_you_mean

    program = " ".join(filter(None, ("gitops-dsf", verb)))
    if not word.startswith("-"):
        return (
            f"{program} takes no more arguments, and {word} is one; `{program} --help` lists them"
        )
    option = word.partition("=")[0]
    options: set[str] = set()
    for action in shell_completion.actions(parser):
        options.update(action.option_strings)
    close = did_you_mean(option, options)
    return f"{program} has no option {option}; {close or f'`{program} --help` lists them'}"


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser of the command line, in which only the chosen verb has arguments."""
    paragraphs = [DESCRIPTION]
    for title, group in GROUPS.items():
        lines = [f"  {verb.name:<10} {verb.help}" for verb in group]
        paragraphs.append("\n".join([f"{title}:", *lines]))
    parser = argparse.ArgumentParser(
        prog="gitops-dsf",
        usage="gitops-dsf [-h] [--debug] [--version] VERB ...",
        description="\n\n".join(paragraphs),
        epilog=EPILOG,
        **_OPTIONS_OF_PARSERS,
    )
    _add_debug(parser)
    parser.add_argument("--version", action="version", version=f"gitops-dsf {__version__}")
    shells = shell_completion.SHELLS
    parser.add_argument(
        "--completion", choices=shells, help="print the code that makes a shell complete words"
    )
    # The description lists the verbs by group, which argparse cannot.
    verbs = parser.add_subparsers(
        prog="gitops-dsf", help=argparse.SUPPRESS, dest="verb", required=chosen is not None
    )
    for name, verb in VERBS.items():
        child = verbs.add_parser(name, **_OPTIONS_OF_PARSERS)
        _add_debug(child)
        if name == chosen:
            _fill(child, verb)
    return parser


def verb_parser(name: str) -> argparse.ArgumentParser:
    """Returns the parser of the words behind a verb."""
    parser = argparse.ArgumentParser(prog=f"gitops-dsf {name}", **_OPTIONS_OF_PARSERS)
    _add_debug(parser)
    _fill(parser, VERBS[name])
    parser.set_defaults(verb=name)
    return parser


def _add_debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="show tracebacks")


def _fill(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Adds the arguments and the help of a verb."""
    parser.description = verb.description or None
    parser.epilog = verb.examples
    verb.add_arguments(parser)
    # Scripts depend on exit codes, so no help is without them.
    if "exit code" not in parser.epilog.lower():
        parser.epilog = f"{parser.epilog.rstrip()}\n\n{EXIT_CODES}".lstrip()


def without_secrets(arguments: Sequence[str]) -> Iterator[str]:
    """The words of a command without what may be a secret.

    That are users and passwords in URLs, and the values of headers. People paste the command into a
    report of a bug, which everybody can read.
    """
    option = ""
    for word in arguments:
        if word.startswith("-"):
            option, equals, value = word.partition("=")
            yield f"{option}={_without_secret(option, value)}" if equals else word
        else:
            yield _without_secret(option, word)


def _without_secret(option: str, value: str) -> str:
    if option == "--header":
        return f"{value.partition(':')[0]}:(hidden)"
    return _USER_OF_URL.sub(r"\1", value)


def _bug(error: Exception, arguments: Sequence[str], *, debug: bool) -> int:
    """Asks for a report of an unexpected exception, and returns the exit code."""
    if debug:
        traceback.print_exc()
    frames = traceback.extract_tb(error.__traceback__)
    # The name of a function and not a path, which may name a person or a company.
    location = f" at {frames[-1].name}:{frames[-1].lineno}" if frames else ""
    tracker = f" at {REPOSITORY}/issues" if REPOSITORY else ""
    _print_error(
        f"this is a bug of gitops-dsf {__version__}, not of your repository:"
        f" {type(error).__name__}: {error}{location}\n  Please report it{tracker} with this"
        f" message, Python {sys.version.split()[0]} and the command\n  gitops-dsf"
        f" {' '.join(without_secrets(arguments))}\n  Run it again with --debug for the traceback."
    )
    return BUG


def _print_error(message: str) -> None:
    sys.stderr.write(printable_lines(f"gitops-dsf: {message}".split("\n")))
