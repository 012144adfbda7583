"""The notes of one merge request on a GitLab for tests, over real HTTP."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from tests.support.threadserver import Handler, JsonServer

BOT: Final = 7
NOTES: Final = ["projects", "12", "merge_requests", "3", "notes"]


@dataclass(kw_only=True)
class GitLabServer(JsonServer):
    """A context manager. Only `token` is accepted; it belongs to the user BOT."""

    token: str
    notes: list[dict[str, Any]] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    """Answers of methods that fail."""
    trouble: Callable[[], tuple[int, Any, dict[str, str]] | None] = lambda: None
    """Called for each request. What it returns is answered."""
    lost: int = 0
    """How many of the next new notes are written, but answered with 502."""

    def __post_init__(self) -> None:
        super().__init__()

    @property
    def url(self) -> str:
        return f"{super().url}/api/v4"

    def note(self, body: str, *, author: int) -> None:
        self.notes.append({"id": 100 + len(self.notes), "body": body, "author": {"id": author}})

    def reply(
        self, request: Handler, data: Any
    ) -> tuple[int, Any] | tuple[int, Any, dict[str, str]]:
        address = urlsplit(request.path)
        query = dict(parse_qsl(address.query))
        path = address.path.removeprefix("/api/v4/").split("/")
        if request.headers.get("PRIVATE-TOKEN") != self.token:
            return 401, {"message": "401 Unauthorized"}
        if (trouble := self.trouble()) is not None:
            return trouble
        if request.command in self.faults:
            return self.faults[request.command], {"message": "no"}
        if path == ["user"]:
            return 200, {"id": BOT, "username": "project_12_bot", "bot": True}
        if path == NOTES and request.command == "GET":
            size, page = int(query.get("per_page", "20")), int(query.get("page", "1"))
            # Newest first, unless the caller asks otherwise.
            listed = self.notes if query.get("sort") == "asc" else self.notes[::-1]
            return 200, listed[(page - 1) * size : page * size]
        if path == NOTES and request.command == "POST":
            self.note(data["body"], author=BOT)
            if self.lost:
                self.lost -= 1
                return 502, {"message": "Bad Gateway"}
            return 201, self.notes[-1]
        if path[:-1] == NOTES and request.command == "PUT":
            (note,) = (one for one in self.notes if one["id"] == int(path[-1]))
            note["body"] = data["body"]
            return 200, note
        return 404, {"message": "404 Not found"}
