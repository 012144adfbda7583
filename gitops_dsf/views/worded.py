"""Values that are sentences for people, in texts and in JSON alike.

A view finds what is the case. `gitops_dsf.show` has the sentence, so JSON output asks it, too.
"""

from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class Worded(Generic[ValueT]):
    """A value that is a sentence in JSON output: see `gitops_dsf.show.jsontext`."""

    # Neither a struct nor a dataclass: msgspec would encode the fields of these by itself.
    __slots__ = ("value",)

    def __init__(self, value: ValueT) -> None:
        self.value = value
