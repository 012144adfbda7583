"""A metric source and a scoring API with the behaviour of real ones, for HttpFake."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.support.agent.http import Reply, Seen


def series(count: int, *, points: int = 3, **labels: str) -> list[dict[str, Any]]:
    return [
        {
            "metric": {"node": f"n{index}", **labels},
            "values": [[1_700_000_000 + 30 * point, str(index + point)] for point in range(points)],
        }
        for index in range(count)
    ]


def matrix(result: Sequence[Mapping[str, Any]], **more: object) -> Reply:
    return Reply.of({"status": "success", "data": {"resultType": "matrix", "result": result}, **more})


def prometheus(result: Sequence[Mapping[str, Any]]) -> Callable[[Seen], Reply]:
    answer = matrix(result)
    return lambda _seen: answer


def prometheus_error(kind: str, text: str, *, status: int = 400) -> Reply:
    return Reply.of({"status": "error", "errorType": kind, "error": text}, status=status)


def last_values(seen: Seen) -> Reply:
    return Reply.of(
        {
            "results": [
                {"metric": one["metric"], "score": float(one["values"][-1][1])} for one in seen.json()["data"]
            ]
        }
    )


def scores(*values: float | str, **labels: str) -> Callable[[Seen], Reply]:
    answer = Reply.of(
        {
            "results": [
                {"metric": {"node": f"n{index}", **labels}, "score": value}
                for index, value in enumerate(values)
            ]
        }
    )
    return lambda _seen: answer


class Scoring:
    """A scoring API whose scores a test changes."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def __call__(self, seen: Seen) -> Reply:
        return scores(*self.values)(seen)
