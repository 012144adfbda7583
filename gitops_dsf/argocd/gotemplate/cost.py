"""The cost of a template: about how many characters it makes Argo CD write.

The ApplicationSet controller runs the templates of all teams in one process, so one template that
writes gigabytes stops every application of the hub. Such a template has a large number in it, or
loops inside of loops. So numbers are counted, and nothing else is estimated: a call gives as much
as its arguments have, and as much as its numbers ask for.

Not guaranteed: that a template without findings stays small. Other growth is not found: a variable
that doubles inside a range, or a replacement that is longer than the replaced text, time and again.
"""

import re
from collections.abc import Sequence
from typing import Final

from gitops_dsf.argocd.gotemplate.values import Value

MAX_CHARACTERS: Final = 1_048_576
"""Upper limit of a text with actions, of the result of one call, and of the results of all actions
of a text. No Application can have more: a request to etcd holds 1.5 MiB, unless it is configured
otherwise.
"""
_CHARACTERS_OF_NUMBER: Final = 8
"""The characters of each number in a list: a list with longer ones is too long itself."""
_REPEATS: Final = frozenset({"indent", "nindent", "repeat"})
"""Functions that multiply what they are given. An indentation stands before each line, and a line
may be one character.
"""
_COUNTS: Final = {
    "indent": slice(1),
    "nindent": slice(1),
    "randAlpha": slice(1),
    "randAlphaNum": slice(1),
    "randAscii": slice(1),
    "randBytes": slice(1),
    "randNumeric": slice(1),
    "repeat": slice(1),
    "seq": slice(None),
    "until": slice(1),
    "untilStep": slice(2),
}
"""The arguments that say how much a function gives."""
_VERB: Final = re.compile(r"%[-+# 0]*(\*|\d*)(?:\.(\*|\d*))?")
"""A verb of printf, with its width and precision."""


def count_of(name: str, arguments: Sequence[Value]) -> int | None:
    """The number by which a call says how much it gives, 0 if it says none.

    None if parameters decide it.
    """
    if name == "printf" and arguments and isinstance(arguments[0].constant, str):
        return _count_of_verbs(arguments[0].constant)
    count = 0
    for argument in arguments[_COUNTS[name]] if name in _COUNTS else ():
        if argument.kind != "number" or not isinstance(argument.constant, int):
            return None
        # untilStep -400000000 0 1 is as long as untilStep 0 400000000 1.
        count += abs(argument.constant)
    return count


def size_of(name: str, arguments: Sequence[Value], count: int) -> int:
    """About how many characters a call gives that has this count."""
    # The text is the last argument, as behind |, and the number before it is `count`.
    if name in _REPEATS:
        return arguments[-1].size * max(count, 1)
    together = sum(argument.size for argument in arguments)
    return together + count * _CHARACTERS_OF_NUMBER


def _count_of_verbs(text: str) -> int | None:
    count = 0
    for widths in _VERB.findall(text):
        # A star takes the width from the arguments.
        if "*" in widths:
            return None
        count += sum(int(width) for width in widths if width)
    return count
