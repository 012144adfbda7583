"""Who commits: a name and a mail address."""

import re
from dataclasses import dataclass
from typing import Final, Self

from gitops_dsf.errors import UsageError

_SHAPE: Final = re.compile(r"(?P<name>[^<>\n\x00]*[^<>\s\x00])\s*<(?P<mail>[^<>\s\x00]+)>")


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """As git writes it into a commit."""

    name: str
    mail: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `Name <mail>`. Raises UsageError."""
        found = _SHAPE.fullmatch(text.strip())
        if found is None:
            msg = (
                f"--author {text!r}: write a name and a mail address, such as 'gitops-dsf"
                " <gitops-dsf@example.com>'"
            )
            raise UsageError(msg)
        return cls(name=found["name"], mail=found["mail"])

    def __str__(self) -> str:
        return f"{self.name} <{self.mail}>"
