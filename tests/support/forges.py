"""What every forge must do for proposals and previews: one story, told to each of them.

One of them plays its part with recorded answers.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl, urlsplit

from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.pullrequest import CLOSED_BY_US
from tests.support.threadserver import Handler, JsonServer

BRANCH: Final = "gitops-dsf/locks-1"
RECORDS: Final = Path(__file__).parents[1] / "data/forges"
MARKER: Final = "<!-- preview -->"


class People(Protocol):
    """What people do on a forge meanwhile."""

    def branch(self, name: str) -> None:
        """Pushes a branch with one commit more than the base."""

    def close(self, number: int) -> None: ...

    def merge(self, number: int) -> None: ...

    def comment(self, number: int, text: str) -> None: ...


async def tell(forge: Forge, people: People) -> None:
    """Opens, finds, comments on and closes requests; fails where the forge does something else."""
    assert await forge.latest(BRANCH) is None
    people.branch(BRANCH)
    first = await forge.open(branch=BRANCH, title="Accept", body="Because")
    assert (first.number, first.is_open, first.merged, first.refused) == (1, True, False, False)
    assert first.url.endswith("/1")
    assert await forge.latest(BRANCH) == first
    assert await forge.open(branch=BRANCH, title="Again", body="") == first, "somebody was faster"

    people.comment(1, f"{MARKER}\nForged")
    people.comment(1, "Looks good")
    assert await forge.comment(1, f"{MARKER}\nOld", marker=MARKER) == "added"
    assert await forge.comment(1, f"{MARKER}\nNew", marker=MARKER) == "edited"

    people.close(1)
    refused = await forge.latest(BRANCH)
    assert refused is not None
    assert (refused.number, refused.is_open, refused.refused) == (1, False, True)

    second = await forge.open(branch=BRANCH, title="Accept", body="Because")
    assert second.number == 2
    await forge.close(second, why="Withdrawn.")
    ours = await forge.latest(BRANCH)
    assert ours is not None
    assert (ours.number, ours.is_open, ours.refused) == (2, False, False), "we closed it"
    assert ours.body == f"Because\n\nWithdrawn.\n{CLOSED_BY_US}"

    await forge.open(branch=BRANCH, title="Accept", body="Because")
    people.merge(3)
    merged = await forge.latest(BRANCH)
    assert merged is not None
    assert (merged.number, merged.is_open, merged.merged, merged.refused) == (3, False, True, False)


@dataclass(kw_only=True)
class RecordedForge(JsonServer):
    """A forge that answers with recorded answers, in their order, and checks every request against
    the record. `signed` is the header with the token that every request must have.
    """

    name: str
    prefix: str
    """Of the API's paths."""
    signed: tuple[str, str]
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.left: list[dict[str, Any]] = json.loads(
            (RECORDS / f"{self.name}.json").read_text("utf-8")
        )

    @property
    def url(self) -> str:
        return f"{super().url}{self.prefix}"

    # People act in the record itself.
    def branch(self, name: str) -> None: ...

    def close(self, number: int) -> None: ...

    def merge(self, number: int) -> None: ...

    def comment(self, number: int, text: str) -> None: ...

    def reply(self, request: Handler, data: Any) -> tuple[int, Any]:
        address = urlsplit(request.path)
        asked = {
            "method": request.command,
            "path": address.path.removeprefix(self.prefix),
            "query": dict(parse_qsl(address.query)),
            "body": data,
        }
        header, value = self.signed
        if request.headers.get(header) != value:
            return 401, {"message": "401 Unauthorized"}
        if not self.left or self.left[0]["request"] != asked:
            self.violations.append(
                f"{asked}, and the record has {self.left[0]['request'] if self.left else '-'}"
            )
            return 500, {"message": "not in the record"}
        step = self.left.pop(0)
        return step["status"], step["answer"]
