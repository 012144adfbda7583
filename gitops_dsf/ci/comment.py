"""Writes the comment of a pull request, also on a forge that has trouble at the moment.

Not guaranteed: that there is one comment only. Two pipelines of one pull request that start at the
same moment may both find none.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.sending import ForgeError

ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 2.0
"""Seconds. Each further pause is twice as long."""
_MAX_WAIT: Final = 150.0
"""Seconds that all pauses together take at most: minutes of a pipeline cost money, and the check of
a pull request needs no comment. It is enough for two secondary limits of GitHub.
"""


class NotWrittenError(GitopsDsfError):
    """The comment could not be written. The message says why, and holds no secret."""


def write_comment(
    forge: Forge, number: int, text: str, *, marker: str, sleep: Callable[[float], None]
) -> str:
    """Returns `edited` or `added`. Raises NotWrittenError.

    Each attempt begins with the search for our comment. So an attempt that was written although its
    answer was lost is edited, and not written twice.
    """
    wait_left = _MAX_WAIT
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return asyncio.run(forge.comment(number, text, marker=marker))
        except ForgeError as error:
            if error.refused:
                raise NotWrittenError(f"the token may not write it: {error}") from error
            if not error.is_temporary:
                raise NotWrittenError(f"the forge did not take it: {error}") from error
            # A forge that limits requests says how long to wait.
            pause = error.wait or _FIRST_PAUSE * 2 ** (attempt - 1)
            if pause > wait_left:
                raise NotWrittenError(
                    f"the forge limits requests and asks to wait {pause:.0f} s: {error}"
                ) from error
            if attempt == ATTEMPTS:
                raise NotWrittenError(
                    f"the forge did not take it in {ATTEMPTS} attempts: {error}"
                ) from error
        wait_left -= pause
        sleep(pause)
    raise AssertionError("the last attempt returns or raises")
