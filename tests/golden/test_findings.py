"""The findings about many small repositories, word for word: code, place, message and hint, and no others.

Most are near a limit of a rule, on either side. `make golden` writes what the rules say now; review the diff.
"""

from pathlib import Path

import pytest

from tests.golden import (
    findings_boundaries,
    findings_cases,
    findings_pace,
    findings_score_tests,
    findings_sources,
)
from tests.support.goldentext import GoldenText
from tests.support.repositories import findings

CASES = {
    **findings_cases.CASES,
    **findings_sources.CASES,
    **findings_score_tests.CASES,
    **findings_boundaries.CASES,
    **findings_pace.CASES,
}


def found(name: str) -> list[str]:
    return [
        line
        for item in findings(**CASES[name])
        for line in (
            f"{item.code} {item.position}: {item.message}",
            *([f"    {item.hint}"] if item.hint else []),
        )
    ]


GOLDEN = GoldenText(Path(__file__).parent / "findings.txt", CASES, found)


def test_the_file_has_every_case(update_golden: bool) -> None:
    GOLDEN.check_cases(update=update_golden)


@pytest.mark.parametrize("name", CASES)
def test_the_findings_about_a_repository(name: str) -> None:
    GOLDEN.check(name)
