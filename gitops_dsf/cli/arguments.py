"""The arguments that several verbs share, and the format of -o: yaml, for every verb that prints JSON, is
that JSON as YAML.
"""

import argparse
import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import Final

from dsf_wire.text import printable_json
from gitops_dsf.errors import RepositoryError, UsageError


def add_fleet_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path(),
        help="fleet repository; this folder by default",
    )


def read_named(name: str, hint: str = "") -> bytes:
    """The content of a file, or of standard input for `-`. Raises RepositoryError if it is not UTF-8."""
    if name == "-" and sys.stdin.isatty():
        print("reading standard input; end it with Ctrl-D", file=sys.stderr)
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        content.decode()
    except UnicodeDecodeError as error:
        raise RepositoryError(f"{name} is not UTF-8 (byte {error.start}){hint}") from error
    except OSError as error:
        raise RepositoryError(f"{name} cannot be read: {error.strerror or error}") from error
    return content


def check_is_folder(directory: Path, hint: str = "") -> None:
    """Raises UsageError if there is no such folder."""
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a folder; write the folder that holds gitops-dsf.yaml{hint}")


def check_has_settings(directory: Path) -> None:
    """Raises UsageError if the folder has no gitops-dsf.yaml."""
    from gitops_dsf.repository.load.discover import SETTINGS_FILE

    if not (directory / SETTINGS_FILE).is_file():
        raise UsageError(
            f"{directory} holds no {SETTINGS_FILE}; name a fleet repository, or make one with gitops-dsf init"
        )


def add_context_arguments(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    hub = parser.add_argument_group("which hub")
    hub.add_argument("--context", metavar="HUB", help="context of the kubeconfig; the current one by default")
    hub.add_argument(
        "--kubeconfig", metavar="FILE", type=Path, help="in place of $KUBECONFIG or ~/.kube/config"
    )
    return hub


def add_hub_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --context, --kubeconfig, --hub-namespace and --argocd-namespace."""
    hub = add_context_arguments(parser)
    hub.add_argument(
        "--hub-namespace",
        metavar="NAME",
        default="open-cluster-management",
        help="where scorers are (open-cluster-management)",
    )
    hub.add_argument(
        "--argocd-namespace",
        metavar="NAME",
        default="argocd",
        help="where ApplicationSets and Placements are (argocd)",
    )


def add_waiting_arguments(parser: argparse.ArgumentParser, *, until: str, dry_run: str) -> None:
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_timeout,
        default=300,
        help=f"how long to wait until {until} (300)",
    )
    parser.add_argument("--no-wait", action="store_true", help=f"do not wait until {until}")


def _timeout(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds, 1 or more")
    return int(text)


def chosen_context(args: argparse.Namespace) -> str:
    """The context of --context, or else the current one, which is printed. Raises UsageError, HubError."""
    from gitops_dsf.hubreader.hub import current_context

    if args.context:
        return str(args.context)
    found = current_context(args.kubeconfig)
    if found is None:
        raise UsageError(
            "there is no current context: name the hub with --context, or run kubectl config use-context"
        )
    print(f"hub: {found} (the current context)", file=sys.stderr)
    return found


DAY_SECONDS, DEFAULT_DAYS = 86_400, 14


def add_span_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --days, --from and --to."""
    group = parser.add_argument_group("which span of time")
    group.add_argument("--days", metavar="N", type=float, help=f"up to --to ({DEFAULT_DAYS})")
    group.add_argument("--from", dest="start", metavar="TIME", type=moment, help="in place of --days")
    group.add_argument("--to", dest="end", metavar="TIME", type=moment, help="now by default")


def span(args: argparse.Namespace, *, known: tuple[float, float] | None = None) -> tuple[float, float]:
    """The span in Unix seconds; `known`, that of the data, is the default. Raises UsageError."""
    now = known[1] if known is not None else time.time()
    end = args.end.timestamp() if args.end is not None else now
    if args.start is not None and args.days is not None:
        raise UsageError("--from and --days are two starts; give one of them")
    days = DEFAULT_DAYS if args.days is None else args.days
    start = args.start.timestamp() if args.start is not None else end - days * DAY_SECONDS
    if known is not None and args.start is None and args.days is None:
        start = known[0]
    if start >= end:
        raise UsageError("the span ends before it starts; write --from before --to, and --days above 0")
    return start, end


def moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write RFC 3339, such as 2026-06-01T00:00:00Z"
        )
    return found


YAML: Final = "yaml"


def add_output(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Adds -o with these formats, text by default. What is JSON can be YAML, too."""
    parser.add_argument(
        "-o",
        "--output",
        choices=(*formats, YAML),
        default="text",
        help="text by default; yaml is the JSON as YAML",
    )


def run_with_output(args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Runs a verb in the format of -o, if it has one."""
    if getattr(args, "output", None) != YAML:
        return run(args)
    args.output = "json"
    with redirect_stdout(io.StringIO()) as printed:
        code = run(args)
    if text := printed.getvalue().strip():
        import json

        import yaml

        yaml.safe_dump(json.loads(text), sys.stdout, sort_keys=False, allow_unicode=True, width=10_000)
    return code


def json_text(content: object) -> str:
    """Formats what msgspec encodes as JSON for people and programs: indented, with a newline at the end."""
    import msgspec

    return printable_json(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"
