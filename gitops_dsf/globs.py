"""Case-sensitive shell-style globs in names: `*`, `?` and `[...]`."""

import re
from fnmatch import translate
from functools import lru_cache

_SPECIAL = re.compile(r"[*?\[]")


def is_glob(name: str) -> bool:
    """Whether a name has a character that matches others."""
    return _SPECIAL.search(name) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def matches(name: str, pattern: str) -> bool:
    """Whether a glob matches the whole name."""
    if not is_glob(pattern):
        return name == pattern
    return _compiled(pattern).fullmatch(name) is not None
