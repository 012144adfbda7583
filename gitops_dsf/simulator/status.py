"""The status that a scheduling step ends with (OCM: pkg/placement/controllers/framework)."""

from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """The codes, in order of severity, with OCM's numbers: the JSON of a verdict has them."""

    SUCCESS = 0
    WARNING = 1
    ERROR = 2
    MISCONFIGURED = 3


@dataclass(frozen=True, slots=True)
class Status:
    code: Code = Code.SUCCESS
    message: str = ""
    plugin: str = ""

    @property
    def failed(self) -> bool:
        """Error and Misconfigured stop the pass; a Warning does not."""
        return self.code >= Code.ERROR


SUCCESS = Status()
