"""Symbolic links of a commit, followed inside the commit and nowhere else: nothing of the machine is ever
reached. Pure.
"""

import posixpath
from collections.abc import Container, Mapping
from typing import Final

LONGEST: Final = 8
"""Links that lead to links."""


def target_of(path: str, *, links: Mapping[str, str], files: Container[str]) -> str | None:
    """The file that a path of the repository stands for: itself, or what its link leads to; None for a link
    that leads to none.
    """
    for _ in range(LONGEST):
        if path in files:
            return path
        if path not in links:
            return None
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), links[path]))
    return None
