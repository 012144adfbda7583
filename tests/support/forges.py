"""What every forge must do for proposals and previews: one story, told to each of them."""

from typing import Final, Protocol

from gitops_dsf.forge.forge import CLOSED_BY_US, Forge

BRANCH: Final = "gitops-dsf/locks-1"
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
