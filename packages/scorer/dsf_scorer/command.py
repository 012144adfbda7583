"""The command `dsf-scorer`, also `gitops-dsf scorer`: serves, checks or creates a scoring API."""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

from dsf_scorer import __version__
from dsf_scorer.errors import DefinitionError, ScorerError, UsageError
from dsf_wire.secrettext import SecretFault, certificates, header_secret
from dsf_wire.text import printable

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from dsf_scorer.conformance import JudgeQuery

_NAME: Final = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
"""The name of a Service (RFC 1035)."""
_SUFFIX: Final = ".tmpl"
"""The suffix of the templates, with which tools do not treat them as Python."""
EXIT_CODES: Final = "Exit codes: 0 fine, 1 errors, 2 wrong usage."
EPILOG: Final = """\
examples:
  {program} new cpu-headroom
      a project: code, test, image, deployment, DynamicScorer
  {program} run scorer:app --port 8000
      serve the ASGI application `app` of scorer.py
  {program} check http://127.0.0.1:8000
      test an API against the contract, in any language
  {program} check URL --token-file token --data series.json
      an API that asks for a token, with series of your own

Exit codes: 0 fine, 1 errors, 2 wrong usage."""


CHECK_EPILOG: Final = """\
Posts sample series, odd series (none, NaN, infinite, unknown labels) and mistakes, and judges the
answers as an agent would. --data takes a scoring request ({"data": [...], "arguments": {...}}), a
list of series, or an answer of Prometheus' query_range. Exit codes: 0 no errors, 1 errors (with
--strict warnings, too)."""


def create(name: str, directory: Path) -> list[Path]:
    """Writes a project with this name.

    Returns its files. Raises UsageError before anything is written.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a scorer's name; write lower-case letters, digits and dashes, at"
            " most 63, a letter first, such as cpu-headroom"
        )
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; name a folder")
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty; name a new folder with --dir")
    # Imported here, as everything that only one action needs: `gitops-dsf` adds these arguments to
    # its own.
    from importlib import resources

    values = {"name": name, "version": __version__}
    return list(_write(resources.files("dsf_scorer").joinpath("template"), directory, values))


def _write(templates: "Traversable", directory: Path, values: Mapping[str, str]) -> Iterator[Path]:
    """Fills in a folder of templates, and the folders in it."""
    directory.mkdir(parents=True, exist_ok=True)
    for entry in sorted(templates.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _write(entry, directory / entry.name, values)
        elif entry.name.endswith(_SUFFIX):
            path = directory / entry.name.removesuffix(_SUFFIX)
            path.write_text(
                Template(entry.read_text(encoding="utf-8")).substitute(values), encoding="utf-8"
            )
            yield path


def add_arguments(
    parser: argparse.ArgumentParser,
) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    """Adds the actions run, check and new. Returns them, so that `gitops-dsf` can add its own."""
    parser.description = "Scoring APIs: what turns metrics into scores."
    parser.epilog = EPILOG.format(program=parser.prog)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    _add_run(
        actions.add_parser("run", help="serve a scoring API", epilog=EXIT_CODES, allow_abbrev=False)
    )
    check = actions.add_parser(
        "check",
        help="test a scoring API against the contract",
        epilog=CHECK_EPILOG,
        allow_abbrev=False,
    )
    _add_check(check)
    new = actions.add_parser(
        "new", help="start a scoring API", epilog=EXIT_CODES, allow_abbrev=False
    )
    new.add_argument("name", metavar="NAME", help="name of the score, such as cpu-headroom")
    new.add_argument("--dir", type=Path, help="new or empty folder (default: NAME)")
    return actions


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("app", metavar="MODULE:APP", help="where the scorer is, such as scorer:app")
    add(
        "--host",
        default="127.0.0.1",
        help="address to listen on (127.0.0.1; in a container 0.0.0.0)",
    )
    add("--port", type=int, default=8000, help="port to listen on (8000; 0 picks a free one)")
    add(
        "--app-dir",
        default="",
        metavar="DIR",
        help="folder that the module is imported from (this one)",
    )
    accepted = "accepted bearer tokens, one per line; as SCORER_TOKEN_FILE"
    add("--token-file", type=Path, metavar="FILE", help=accepted)
    prefix = "prefix that a proxy before it strips, such as /apis/cpu"
    add("--root-path", default="", metavar="PATH", help=prefix)
    add("--access-log", action="store_true", help="log each request")
    levels = ("debug", "info", "warning", "error")
    add("--log-level", choices=levels, default="info", help="how much is logged (info)")


def _add_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("url", metavar="URL", help="base URL of the scoring API, or that of its /config")
    add(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="bearer token for the scoring endpoint; the first line",
    )
    posted = "series and arguments to post, as JSON (generic series by default)"
    add("--data", type=Path, metavar="FILE", help=posted)
    elsewhere = "scoring endpoint, when it is on another host than /config"
    add("--scoring-url", default="", metavar="URL", help=elsewhere)
    modes = ("Full", "None")
    add(
        "--sync-mode",
        choices=modes,
        default="Full",
        help="with None the API needs no /config (Full)",
    )
    seconds = "for each request (30, as agents)"
    add("--timeout", type=float, default=30.0, metavar="SECONDS", help=seconds)
    largest = "series of the largest request (2000; 0: leave it out)"
    add("--series", type=int, default=2000, metavar="N", help=largest)
    add("--ca-file", type=Path, metavar="FILE", help="PEM certificates of a private CA")
    formats = ("text", "json")
    add("-o", "--output", choices=formats, default="text", help="how findings are written (text)")
    add("--strict", action="store_true", help="exit with 1 for warnings, too")
    add("--verbose", action="store_true", help="show the checks that passed, too")


def run(args: argparse.Namespace, *, judge_query: "JudgeQuery | None" = None) -> int:
    """Runs the action, with `judge_query` for PromQL.

    Raises UsageError, and ScorerError for other errors.
    """
    if args.action == "check":
        return _check(args, judge_query)
    if args.action == "run":
        return _run(args)
    return _new(args)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="dsf-scorer", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"dsf-scorer {__version__}")
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except ScorerError as error:
        print(printable(f"dsf-scorer: error: {error}"), file=sys.stderr)
        if isinstance(error, UsageError):
            return 2
        return 1
    except KeyboardInterrupt:
        # 128 + SIGINT, as shells report a program that Ctrl-C ended.
        return 130


def _new(args: argparse.Namespace) -> int:
    directory = args.dir
    if directory is None:
        directory = Path(args.name)
    try:
        files = create(args.name, directory)
    except OSError as error:
        raise ScorerError(f"{directory}: {error.strerror}") from error
    for path in files:
        print(printable(path))
    print(
        f"\nnext:\n  cd {printable(directory)}\n  pytest\n  dsf-scorer run scorer:app\n  dsf-scorer"
        " check http://127.0.0.1:8000"
    )
    return 0


def _run(args: argparse.Namespace) -> int:
    import gc
    import logging

    import uvicorn

    if args.token_file is not None:
        # The application is created on import and reads the environment then.
        os.environ["SCORER_TOKEN_FILE"] = str(args.token_file.absolute())
    # `gitops-dsf` does without, because most verbs are short.
    gc.enable()
    logging.basicConfig(
        level=args.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    try:
        uvicorn.run(
            args.app,
            app_dir=args.app_dir,
            host=args.host,
            port=args.port,
            root_path=args.root_path,
            log_level=args.log_level,
            # uvicorn's own configuration would replace the format above.
            log_config=None,
            access_log=args.access_log,
            server_header=False,
            ws="none",
            # By default Kubernetes kills a pod 30 s after SIGTERM (terminationGracePeriodSeconds).
            timeout_graceful_shutdown=30,
        )
    except SystemExit as error:
        # If the server cannot start, it logs the reason and ends the process with an exit code of
        # its own.
        raise ScorerError(
            f"the server cannot start on {args.host}:{args.port}; the log above says why"
        ) from error
    except DefinitionError as error:
        raise UsageError(str(error)) from error
    except Exception as error:
        raise UsageError(f"{args.app} cannot be served: {type(error).__name__}: {error}") from error
    return 0


def _check(args: argparse.Namespace, judge_query: "JudgeQuery | None") -> int:
    import ssl

    from dsf_scorer import conformance
    from dsf_scorer.conformance.exchange import Client, Target
    from dsf_scorer.conformance.scoring import Sample, read_sample

    if args.timeout <= 0 or args.series < 0:
        raise UsageError("--timeout must be above 0 and --series not below 0")
    target = Target.parse(args.url, scoring_url=args.scoring_url)
    sample: Sample | None = None
    if args.data is not None:
        sample = read_sample(args.data)
    tls: ssl.SSLContext | None = None
    # ssl.SSLError is an OSError, and SecretFault a ValueError.
    try:
        if args.ca_file:
            tls = ssl.create_default_context(cadata=certificates(args.ca_file.read_bytes()))
    except (OSError, ValueError) as error:
        raise UsageError(f"--ca-file {args.ca_file}: {error}") from error
    report = conformance.check(
        target,
        client=Client(timeout_seconds=args.timeout, tls=tls),
        # Only `gitops-dsf scorer check` knows PromQL.
        judge_query=judge_query or (lambda _: []),
        token=_token(args.token_file),
        sample=sample,
        needs_config=args.sync_mode == "Full",
        large=args.series,
    )
    if args.output == "json":
        sys.stdout.write(report.json())
    else:
        sys.stdout.write(report.text(verbose=args.verbose))
    return int(report.errors > 0 or (args.strict and report.warnings > 0))


def _token(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"--token-file {file}: {error.strerror}") from error
    # The file of a scoring API has one token per line while tokens are rotated. The first one is
    # sent.
    lines = content.strip().splitlines() or [content]
    try:
        return header_secret(lines[0])
    except SecretFault as fault:
        raise UsageError(f"--token-file {file} {fault}") from None
