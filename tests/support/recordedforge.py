"""A forge that answers with recorded answers, in their order, and checks every request against the record."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from tests.support.threadserver import Handler, ThreadServer

RECORDS: Final = Path(__file__).parents[1] / "data/forges"


@dataclass(kw_only=True)
class RecordedForge(ThreadServer):
    """A context manager. `signed` is the header with the token that every request must have."""

    name: str
    prefix: str
    """Of the API's paths."""
    signed: tuple[str, str]
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        fake = self
        self.left: list[dict[str, Any]] = json.loads((RECORDS / f"{self.name}.json").read_text("utf-8"))

        class RecordedHandler(Handler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                body = self.body()
                status, answer = fake._answer(self, json.loads(body) if body else None)
                self.send(status, json.dumps(answer).encode())

        super().__init__(RecordedHandler)

    @property
    def url(self) -> str:
        return f"{super().url}{self.prefix}"

    # People act in the record itself.
    def branch(self, name: str) -> None: ...

    def close(self, number: int) -> None: ...

    def merge(self, number: int) -> None: ...

    def comment(self, number: int, text: str) -> None: ...

    def _answer(self, request: Handler, data: Any) -> tuple[int, Any]:
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
