"""The names that `-o name` prints, from the JSON of a verb."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Names = Callable[[Any], Iterable[str]]
"""Takes the JSON of a verb. A name can come several times."""


def _records(output: Any) -> Iterable[str]:  # noqa: ANN401 - plain JSON
    return (record["placement"] for record in output["records"])


NAMES: Final[Mapping[str, tuple[str, Names]]] = {
    "backtest": (
        "Placements",
        lambda output: (
            (item["placement"] for item in output["placements"])
            if "placements" in output
            else output["head"]["placements"]
        ),
    ),
    "diff": (
        "what moves",
        lambda output: (move["application"] for move in (output["comparison"] or {}).get("moves") or ()),
    ),
    "doctor": (
        "checks that are not ok",
        lambda output: (item["check"] for item in output["findings"] if item["state"] != "ok"),
    ),
    "explain": ("the Placement", lambda output: [output["placement"]]),
    "log": ("Placements", _records),
    "simulate": ("Placements", lambda output: (item["placement"] for item in output["placements"])),
    "status": (
        "scorers, Placements and applications",
        lambda output: [
            *(f"scorer/{item['name']}" for item in output["scorers"]),
            *(f"placement/{item['placement']}" for item in output["placements"]),
            *(f"application/{item['name']}" for item in output["applications"]),
        ],
    ),
    "sync": (
        "scorers whose lock is not up to date",
        lambda output: (item["scorer"] for item in output if item["verdict"] != "unchanged"),
    ),
    "test": (
        "tests that fail",
        lambda output: (item["name"] for item in output["tests"] if not item["passed"]),
    ),
    "validate": ("files with findings", lambda output: (item["file"] for item in output)),
}
"""What the names of each verb are, and how they are found."""


def names(verb: str, output: Any) -> list[str]:  # noqa: ANN401 - plain JSON
    """The names in the JSON of a verb, each once, in its order."""
    _, find = NAMES[verb]
    return list(dict.fromkeys(find(output)))
