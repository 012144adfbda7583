"""The command line. Exit codes: 0 an orderly end, 1 a failure, 2 wrong usage."""

import asyncio
import os
import sys
from collections.abc import Sequence

from dsf_agent import __version__, build, check, logs, supervise, threads
from dsf_agent import settings as settings_module
from dsf_agent.clock import SystemClock
from dsf_agent.errors import SettingsError
from dsf_agent.settings import Settings
from dsf_agent.threads import Threads


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    flags = settings_module.parser().parse_args(arguments)
    if flags.version:
        print(__version__)
        return 0
    if flags.verb is None:
        settings_module.parser().print_usage(sys.stderr)
        return 2
    try:
        settings, flags = settings_module.read(arguments, os.environ)
    except SettingsError as error:
        print(f"gitops-dsf-agent: {error}", file=sys.stderr)
        return 2
    return _start(settings, scorers=getattr(flags, "scorer", []))


def _start(settings: Settings, *, scorers: list[str]) -> int:
    logs.configure(style=settings.log_format, level=settings.log_level)

    async def process() -> int:
        asyncio.get_running_loop().set_default_executor(Threads())
        adapters = build.adapters(settings, clock=SystemClock())
        return await (check.run(adapters, only=scorers) if settings.verb == "check" else supervise.serve(adapters))

    try:
        return threads.leave(asyncio.run(process()))
    except OSError as error:
        print(f"gitops-dsf-agent: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
