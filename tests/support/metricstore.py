"""A store with Prometheus' /api/v1/query_range on loopback.

Its series are functions of the time.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dsf_wire.dimension import LABELS
from tests.support.threadserver import Handler, ThreadServer

Value = Callable[[float], float | None]


@dataclass
class FakeMetricStore(ThreadServer):
    """A context manager. `scores` gives the raw score of a score name and a cluster at a time."""

    scores: Mapping[tuple[str, str], Value]
    queries: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Values of other queries by the value of `label`."""
    label: str = "cluster"
    partial: bool = False
    """Whether answers to `queries` say that data is missing."""
    most_samples: int = 10**9
    """A larger question is refused, as Prometheus refuses one that loads too many samples."""
    token: str = ""
    answer: bytes | None = None
    """In place of every answer."""
    status: int = 200
    measured_ago: float = 12.0
    """Seconds between the last scrape and a question that asks for the age, too."""
    hangs: bool = False
    """No question is answered before the end of the block."""
    asked: list[dict[str, str]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        store = self
        ended = self._ended = threading.Event()

        class StoreHandler(Handler):
            def serve(self) -> None:
                text = urlsplit(self.path).query if self.command == "GET" else self.body().decode()
                question = {name: values[0] for name, values in parse_qs(text).items()}
                store.asked.append(question)
                store.headers.append({name.lower(): value for name, value in self.headers.items()})
                if store.hangs:
                    ended.wait()
                self.send(*store.reply(question, self.headers.get("Authorization", "")))

        super().__init__(StoreHandler)

    def stop(self) -> None:
        self._ended.set()
        super().stop()

    def reply(self, question: Mapping[str, str], authorization: str) -> tuple[int, bytes]:
        if self.token and authorization != f"Bearer {self.token}":
            return 401, b"who are you?"
        if self.answer is not None:
            return self.status, self.answer
        series = self.queries.get(question["query"])
        if series is not None:
            return 200, answer_of(self._evaluated(series, question), isPartial=self.partial)
        names = _asked_names(question["query"])
        found = matrix(
            {pair: value for pair, value in self.scores.items() if pair[0] in names},
            start=float(question["start"]),
            end=float(question["end"]),
            step=float(question["step"]),
        )
        if '"gitops_dsf_part"' in question["query"]:
            found = self._with_times(found)
        if sum(len(row["values"]) for row in found) > self.most_samples:
            error = {
                "status": "error",
                "errorType": "execution",
                "error": "query processing would load too many samples into memory",
            }
            return 422, json.dumps(error).encode()
        return 200, answer_of(found)

    def _with_times(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Each series as the lowest number, as the highest one, and as the time of its sample."""
        parts = []
        for row in rows:
            times = [[at, f"{at - self.measured_ago:.3f}"] for at, _ in row["values"]]
            for part, values in (("low", row["values"]), ("high", row["values"]), ("time", times)):
                labels = row["metric"] | {"gitops_dsf_part": part}
                parts.append({"metric": labels, "values": values})
        return parts

    def _evaluated(
        self, series: Mapping[str, Value], question: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        asked = {name: float(question[name]) for name in ("start", "end", "step")}
        rows = matrix({("", cluster): value for cluster, value in series.items()}, **asked)
        return [row | {"metric": {self.label: row["metric"]["ds_cluster"]}} for row in rows]


def _asked_names(query: str) -> set[str]:
    """The score names of a selector."""
    names: set[str] = set()
    for operator, text in re.findall(r'ds_score_name(=~?)"([^"]*)"', query):
        names.update(text.replace("\\", "").split("|") if operator == "=~" else [text])
    return names


def matrix(
    scores: Mapping[tuple[str, str], Value], *, start: float, end: float, step: float
) -> list[dict[str, Any]]:
    """The series at the points of a range query."""
    count = int((end - start) / step + 1e-6) + 1
    times = [start + number * step for number in range(count)]
    rows = []
    for (score, cluster), value in scores.items():
        found = [(at, value(at)) for at in times]
        labels = {"ds_cluster": cluster, "ds_score_name": score} | {
            f"ds_{name}": "" for name in LABELS
        }
        rows.append(
            {
                "metric": labels,
                "values": [[at, f"{each:g}"] for at, each in found if each is not None],
            }
        )
    return [row for row in rows if row["values"]]


def answer_of(rows: list[dict[str, Any]], **more: Any) -> bytes:
    """The body of a successful answer."""
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": rows}, **more}
    ).encode()
