"""A scoring API over real HTTP.

The headroom that a cluster has left, from its load between 0 and 1.
"""

from typing import Any

from tests.support.threadserver import Handler, JsonServer


class HeadroomApi(JsonServer):
    """Answers each series with 1 - its last value; a context manager.

    ``token`` makes it want that bearer token.

    ``fixed`` is an answer for requests without series, as a scorer with source type None sends
    them.
    """

    def __init__(self, *, token: str | None = None, fixed: float | None = None) -> None:
        super().__init__()
        self.token = token
        self.fixed = fixed
        self.requests: list[dict[str, Any]] = []
        self.refused = 0

    def reply(self, request: Handler, data: Any) -> tuple[int, Any]:
        if request.command == "GET":
            return 200, {"status": "ok"}
        if (
            self.token is not None
            and request.headers.get("Authorization") != f"Bearer {self.token}"
        ):
            self.refused += 1
            return 401, {"detail": "wrong token"}
        self.requests.append(data)
        if self.fixed is not None:
            return 200, {"results": [{"metric": {}, "score": self.fixed}]}
        answers = [
            (series["metric"], 1 - float(series["values"][-1][1])) for series in data["data"]
        ]
        return 200, {"results": [{"metric": metric, "score": score} for metric, score in answers]}
