"""The command line of the agent.

Exit codes: 0 after SIGTERM or a good check, 1 after a failure, 2 for wrong usage.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dsf_agent import __version__
from dsf_agent.configuration import settings as settings_module
from dsf_agent.configuration.settings import DEFAULT_WAITS, AgentSettings, Waits
from dsf_agent.errors import SettingsError
from dsf_agent.process import build, check, supervise
from dsf_runtime import logs, threads
from dsf_wire.text import printable

LOG_FIELDS: Final = ("scorer", "stage", "reason", "object")
"""Fields that a log record may have besides its text."""
THREADS: Final = 64
"""Threads for files and name look-ups.

There must be more of them than look-ups that hang at one time.
"""


def main(argv: Sequence[str] | None = None, *, waits: Waits = DEFAULT_WAITS) -> int:
    """Runs the process."""
    parser = settings_module.parser()
    flags = parser.parse_args(argv)
    if flags.version:
        print(__version__)
        return 0
    if flags.verb is None:
        parser.print_usage(sys.stderr)
        return 2
    try:
        settings = replace(settings_module.read(flags, os.environ), waits=waits)
    except SettingsError as error:
        print(printable(f"gitops-dsf-agent: {error}"), file=sys.stderr)
        return 2
    return _start(settings, scorers=getattr(flags, "scorer", []))


def _start(settings: AgentSettings, *, scorers: list[str]) -> int:
    formatter = (
        logs.JsonFormatter(fields=LOG_FIELDS)
        if settings.log_format == "json"
        else logs.TextFormatter(fields=LOG_FIELDS)
    )
    logs.configure(package="dsf_agent", formatter=formatter, level=settings.log_level)

    async def process() -> int:
        # Before the first look-up of a name: the pool of asyncio has few threads, and at the end it
        # waits for those that hang.
        threads.use_threads(THREADS)
        adapters = build.Adapters(settings)
        return await (
            check.run(adapters, only=scorers)
            if settings.verb == "check"
            else supervise.serve(adapters)
        )

    try:
        return threads.leave(asyncio.run(process()))
    except OSError as error:
        print(printable(f"gitops-dsf-agent: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
