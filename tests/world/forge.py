"""The forge of the world, in memory.

Pull requests on top of git in memory, and what people do with them.

What it answers is that of the GitHub of all tests (`tests/support/githubserver.py`), which checks
requests against what GitHub documents.
"""

import json
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import httpx

from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.githubserver import GitHubApi, Pull
from tests.world import git
from tests.world.loop import world_loop
from tests.world.network import Answer, WorldServer

if TYPE_CHECKING:
    from tests.world.world import World

TOKEN: Final = "ghp_ofthisworld"
BRANCHES: Final = "gitops-dsf/"
"""The branches of proposals begin with it."""
PERSON: Final = "A Platform Engineer <engineer@example.com>"


class Forge(GitHubApi, WorldServer):
    """The API.

    `wrote` is called after each request that changed something, with the branch of its pull.
    """

    def __init__(self, repository: git.Repository) -> None:
        super().__init__(token=TOKEN)
        self._repository = repository
        self.wrote: Callable[[str, Pull], None] = lambda _method, _pull: None

    def branches(self) -> Mapping[str, str]:
        return self._repository.branches

    def ahead(self, base: str, branch: str) -> int:
        return self._repository.ahead(base, branch)

    def answered(self, seen: RecordedRequest) -> Answer:
        data = json.loads(seen.body) if seen.body else None
        headers = httpx.Headers(dict(seen.headers))
        status, content, more = self.answer(seen.method, seen.target, headers, data)
        if seen.method != "GET" and 200 <= status < 300:
            self.wrote(seen.method, self._pull(content["number"]))
        return SentReply.of(content, status=status, headers=more)

    def newest(self, branch: str) -> Pull | None:
        """The newest pull request of a branch."""
        return next((pull for pull in reversed(self.pulls) if pull.branch == branch), None)

    @property
    def open_pulls(self) -> list[Pull]:
        branches = self.opened()
        return [pull for pull in self.pulls if pull.state == "open" and pull.branch in branches]


class People:
    """What people do with the pull requests of the reconciler."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def merge(self, pull: Pull) -> str:
        """Merges into main, as the button does.

        Returns what was done; empty if there is a conflict.
        """
        world, repository = self._world, self._world.repository
        tip = repository.branches[pull.branch]
        base = repository.merge_base(git.MAIN, pull.branch)
        before, after = repository.files(base), repository.files(tip)
        here = repository.files(repository.branches[git.MAIN])
        changes = {
            path: after.get(path)
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        }
        if any(here.get(path) not in {before.get(path), after[path]} for path in changes):
            return ""
        sources = world.sources.edited(changes)
        left = set(world.sources.clusters) - set(sources.clusters)
        if left & {drain.cluster for drain in world.sources.drains}:
            # The repository would be invalid, and its pipeline says so.
            return ""
        pull.state, pull.merged = "closed", True
        world.merge(sources, f"pull request {pull.number}", also=tip)
        return f"merge {pull.branch}"

    def close(self, pull: Pull) -> str:
        pull.state = "closed"
        return f"close {pull.branch}"

    def edit(self, pull: Pull) -> str:
        """Somebody writes another text."""
        pull.title, pull.body = "Ours now", "We look at it."
        return f"edit the text of {pull.branch}"

    def delete(self, pull: Pull) -> str:
        """Deletes the branch, and so closes the pull request."""
        del self._world.repository.branches[pull.branch]
        pull.state = "closed"
        return f"delete {pull.branch}"

    def push(self, pull: Pull, drawn: random.Random) -> str:
        """Pushes a commit of one's own to the branch."""
        repository = self._world.repository
        files = dict(repository.read(pull.branch))
        files["README.md"] = f"{drawn.random()}\n".encode()
        repository.made(
            files,
            branch=pull.branch,
            author=PERSON,
            message="Also this",
            moment=world_loop().wall(),
        )
        return f"push to {pull.branch}"
