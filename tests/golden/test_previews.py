"""The comment of a preview for each kind of change, word for word.

`make golden` writes what it says now. Read the difference as a reviewer of a pull request would.
"""

from pathlib import Path

import pytest

from tests.pictures.cases import CASES

EXPECTED = Path(__file__).parent / "previews"


@pytest.mark.parametrize("name", CASES)
def test_the_comment_of_a_kind_of_change(name: str, tmp_path: Path, update_golden: bool) -> None:
    text = CASES[name](tmp_path)
    path = EXPECTED / f"{name}.md"
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        "the comment changed: review it, then run `make golden`"
    )


def test_there_is_no_comment_without_its_case() -> None:
    assert {path.stem for path in EXPECTED.glob("*.md")} == {*CASES}
