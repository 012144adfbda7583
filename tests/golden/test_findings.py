"""The findings about many small repositories, word for word: code, place, message and hint, and no others.

Most are near a limit of a rule, on either side. `make golden` writes what the rules say now; review the diff.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.golden import findings_cases, findings_sources
from tests.unit.resolve.test_rules import findings

CASES = {**findings_cases.CASES, **findings_sources.CASES}
GOLDEN = Path(__file__).parent / "findings.txt"


@cache
def read() -> Mapping[str, list[str]]:
    sections: dict[str, list[str]] = {}
    title = ""
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:]
            sections[title] = []
        elif line:
            sections[title].append(line)
    return sections


def found(name: str) -> list[str]:
    return [
        line
        for item in findings(**CASES[name])
        for line in (
            f"{item.code} {item.position}: {item.message}",
            *([f"    {item.hint}"] if item.hint else []),
        )
    ]


def test_the_file_has_every_case(update_golden: bool) -> None:
    if update_golden:
        lines = [line for name in CASES for line in (f"# {name}", *found(name), "")]
        GOLDEN.write_text("\n".join(lines), encoding="utf-8")
        read.cache_clear()
    assert list(read()) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_findings_about_a_repository(name: str) -> None:
    assert found(name) == read().get(name), "the findings changed: review them, then run `make golden`"
