"""A GitHub for tests: pull requests and comments, on top of a repository.

`GitHubApi` says what GitHub answers. `GitHubServer` serves that over real HTTP for a real bare
repository, and the world (`tests/world/forge.py`) in memory.

Bodies and parameters of requests are checked against what GitHub documents (REST API 2022-11-28),
because a misspelled one would silently have no effect. `violations` has what does not match, and
tests check it at the end.
"""

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.support.threadserver import Handler, JsonServer

T = TypeVar("T")
OWNER, NAME = "team", "fleet"
Answer = tuple[int, Any, dict[str, str]]

KNOWN = {
    "POST pulls": {"title", "head", "base", "body"},
    "PATCH pulls": {"title", "body", "base", "state"},
    "GET pulls": {"state", "head", "base", "sort", "direction", "per_page", "page"},
    "POST comments": {"body"},
    "PATCH comments": {"body"},
}
"""Parameters, of which all of a POST are required."""
VALUES = {
    "state": {"open", "closed", "all"},
    "sort": {"created", "updated", "popularity", "long-running"},
    "direction": {"asc", "desc"},
}


BOT = {"id": 41_898_282, "login": "github-actions[bot]", "type": "Bot"}
"""Who writes with the token of a workflow."""
PERSON = {"id": 5, "login": "somebody", "type": "User"}


@dataclass(kw_only=True)
class Pull:
    number: int
    title: str
    branch: str
    base: str
    body: str
    sha: str
    state: str = "open"
    merged: bool = False
    full_name: str = f"{OWNER}/{NAME}"
    thread: list[dict[str, Any]] = field(default_factory=list)
    """Comments as GitHub shows them."""

    @property
    def comments(self) -> list[str]:
        return [comment["body"] for comment in self.thread]

    def comment(self, body: str, *, user: dict[str, Any]) -> dict[str, Any]:
        self.thread.append(
            {"id": 1000 * self.number + len(self.thread), "user": user, "body": body}
        )
        return self.thread[-1]


class GitHubApi:
    """What GitHub answers. Only `token` is accepted."""

    def __init__(self, *, token: str) -> None:
        self.token = token
        self.pulls: list[Pull] = []
        self.violations: list[str] = []
        self.log: list[str] = []
        """Method and path of every call."""
        self.faults: list[Callable[[str, str], Answer | None]] = []
        """Called for each request before anything else. The first answer is sent."""
        self.gitea = False
        """Whether it checks the headers of a Gitea, whose API has the same shapes."""
        super().__init__()

    @abstractmethod
    def branches(self) -> Mapping[str, str]:
        """The branches of the repository, with their commits."""

    @abstractmethod
    def ahead(self, base: str, branch: str) -> int:
        """The number of commits of a branch that its base lacks."""

    def opened(self) -> list[str]:
        """Branches of open pull requests."""
        self._notice_deleted_branches()
        return [pull.branch for pull in self.pulls if pull.state == "open"]

    def comment(self, number: int, text: str) -> None:
        """What somebody writes."""
        self._pull(number).comment(text, user=PERSON)

    def close(self, number: int) -> None:
        """Closes a pull request as people do in the browser."""
        self._pull(number).state = "closed"

    def answer(
        self, method: str, target: str, headers: Mapping[str, str] | Message, data: Any
    ) -> Answer:
        """Takes headers whose names may be written in upper or lower case."""
        address = urlsplit(target)
        path = address.path.removeprefix("/api/v3")
        self.log.append(f"{method} {path}")
        for fault in self.faults:
            found = fault(method, path)
            if found is not None:
                return found
        if not self.gitea and (
            headers.get("X-GitHub-Api-Version") != "2022-11-28"
            or headers.get("Accept") != "application/vnd.github+json"
        ):
            self.violations.append(f"{path}: version or Accept is missing")
        if not headers.get("User-Agent"):
            self.violations.append(f"{path}: GitHub answers 403 without User-Agent")
        scheme = "token" if self.gitea else "Bearer"
        if headers.get("Authorization") != f"{scheme} {self.token}":
            return 401, {"message": "Bad credentials"}, {}
        self._notice_deleted_branches()
        call = (method, *path.removeprefix(f"/repos/{OWNER}/{NAME}").strip("/").split("/"))
        query = dict(parse_qsl(address.query))
        match call:
            case ("GET", "pulls"):
                self._check("GET pulls", query)
                return self._list(query)
            case ("POST", "pulls"):
                self._check("POST pulls", data)
                return self._create(data)
            case ("PATCH", "pulls", number):
                self._check("PATCH pulls", data)
                pull = self._pull(int(number))
                pull.state, pull.body = data.get("state", pull.state), data.get("body", pull.body)
                return 200, self._shown(pull), {}
            case ("POST", "issues", number, "comments"):
                self._check("POST comments", data)
                return 201, self._pull(int(number)).comment(data["body"], user=BOT), {}
            case ("GET", "issues", number, "comments"):
                return 200, _page(self._pull(int(number)).thread, query), {}
            case ("PATCH", "issues", "comments", number):
                self._check("PATCH comments", data)
                (edited,) = (
                    one for pull in self.pulls for one in pull.thread if one["id"] == int(number)
                )
                edited["body"] = data["body"]
                return 200, edited, {}
            case ("GET", "user"):
                return 403, {"message": "Resource not accessible by integration"}, {}
        return 404, {"message": "Not Found"}, {}

    def _list(self, query: dict[str, str]) -> Answer:
        state, head = query.get("state", "open"), query.get("head", "")
        found = [
            pull
            for pull in self.pulls
            if state in {"all", pull.state}
            and query.get("base", pull.base) == pull.base
            and head in {"", f"{OWNER}:{pull.branch}"}
        ]
        found.sort(key=lambda pull: pull.number, reverse=query.get("direction", "desc") == "desc")
        return 200, [self._shown(pull) for pull in _page(found, query)], {}

    def _create(self, data: dict[str, Any]) -> Answer:
        branch, base = data["head"], data["base"]
        sha = self.branches().get(branch)
        if sha is None or base not in self.branches():
            return self._invalid(resource="PullRequest", field="head", code="invalid")
        if any(
            pull.branch == branch and pull.base == base and pull.state == "open"
            for pull in self.pulls
        ):
            message = f"A pull request already exists for {OWNER}:{branch}."
            return self._invalid(resource="PullRequest", code="custom", message=message)
        if not self.ahead(base, branch):
            message = f"No commits between {base} and {branch}"
            return self._invalid(resource="PullRequest", code="custom", message=message)
        title, body = data["title"], data.get("body", "")
        pull = Pull(
            number=len(self.pulls) + 1, title=title, branch=branch, base=base, body=body, sha=sha
        )
        self.pulls.append(pull)
        return 201, self._shown(pull), {}

    def _invalid(self, **detail: str) -> Answer:
        return 422, {"message": "Validation Failed", "errors": [detail]}, {}

    def _notice_deleted_branches(self) -> None:
        """Closes pull requests whose branch was deleted, as GitHub does."""
        branches = self.branches()
        for pull in self.pulls:
            if (
                pull.state == "open"
                and pull.full_name == f"{OWNER}/{NAME}"
                and pull.branch not in branches
            ):
                pull.state = "closed"

    def _shown(self, pull: Pull) -> dict[str, Any]:
        return {
            "number": pull.number,
            "html_url": f"https://github.test/{OWNER}/{NAME}/pull/{pull.number}",
            "state": pull.state,
            "title": pull.title,
            "body": pull.body or None,
            "merged_at": "2026-11-21T08:00:00Z" if pull.merged else None,
            "head": {"ref": pull.branch, "sha": pull.sha, "repo": {"full_name": pull.full_name}},
            "base": {"ref": pull.base},
        }

    def _pull(self, number: int) -> Pull:
        return next(pull for pull in self.pulls if pull.number == number)

    def _check(self, call: str, data: dict[str, str]) -> None:
        known, wrong = (
            KNOWN[call],
            {name for name in VALUES.keys() & data if data[name] not in VALUES[name]},
        )
        missing = known - data.keys() if call.startswith("POST") else set()
        if wrong := wrong | missing | (data.keys() - known):
            self.violations.append(f"{self.log[-1]}: {sorted(wrong)} of {data}")


class GitHubServer(GitHubApi, JsonServer):
    """A context manager."""

    def __init__(self, *, repository: GitRepository, token: str) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        super().__init__(token=token)

    @property
    def url(self) -> str:
        return f"{super().url}/api/v3"

    def branches(self) -> Mapping[str, str]:
        return self._repository.branches()

    def ahead(self, base: str, branch: str) -> int:
        bare = self._repository.bare
        return int(git("rev-list", "--count", f"{base}..{branch}", folder=bare))

    def reply(self, request: Handler, data: Any) -> Answer:
        with self._lock:
            return self.answer(request.command, request.path, request.headers, data)

    def branch(self, name: str) -> None:
        """Pushes a branch with one commit more than main."""
        clone = self._repository.clone
        git("commit", "--quiet", "--allow-empty", "--message", name, folder=clone)
        git("push", "--quiet", "origin", f"HEAD:refs/heads/{name}", folder=clone)
        git("reset", "--quiet", "--hard", "origin/main", folder=clone)

    def merge(self, number: int) -> None:
        """Merges as people do in the browser: the branch is merged into its base and stays."""
        pull = self._pull(number)
        clone = self._repository.clone
        git("fetch", "--quiet", "origin", pull.branch, folder=clone)
        git("merge", "--quiet", "--no-ff", "--no-edit", "FETCH_HEAD", folder=clone)
        git("push", "--quiet", "origin", pull.base, folder=clone)
        pull.state, pull.merged = "closed", True


def _page(items: list[T], query: dict[str, str]) -> list[T]:
    size, page = int(query.get("per_page", "30")), int(query.get("page", "1"))
    return items[(page - 1) * size : page * size]
