"""A scoring API over real HTTP: the headroom that a cluster has left, from its load between 0 and 1."""

import json
from http import HTTPStatus
from typing import Any

from tests.support.threadserver import Handler, ThreadServer


class HeadroomApi(ThreadServer):
    """Answers each series with 1 - its last value; a context manager. ``token`` makes it want that bearer
    token.

    ``fixed`` is an answer for requests without series, as a scorer with source type None sends them.
    """

    def __init__(self, *, token: str | None = None, fixed: float | None = None) -> None:
        super().__init__(_handler(self))
        self.token = token
        self.fixed = fixed
        self.requests: list[dict[str, Any]] = []
        self.refused = 0


def headroom(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "results": [
            {"metric": series["metric"], "score": 1 - float(series["values"][-1][1])}
            for series in request["data"]
        ]
    }


def _handler(api: HeadroomApi) -> type[Handler]:
    class HeadroomHandler(Handler):
        def serve(self) -> None:
            if self.command == "GET":
                self._say(HTTPStatus.OK, {"status": "ok"})
                return
            request = json.loads(self.body())
            if api.token is not None and self.headers.get("Authorization") != f"Bearer {api.token}":
                api.refused += 1
                self._say(HTTPStatus.UNAUTHORIZED, {"detail": "wrong token"})
                return
            api.requests.append(request)
            self._say(
                HTTPStatus.OK,
                headroom(request) if api.fixed is None else {"results": [{"metric": {}, "score": api.fixed}]},
            )

        def _say(self, status: HTTPStatus, body: dict[str, Any]) -> None:
            self.send(status, json.dumps(body).encode())

    return HeadroomHandler
