"""docs/operate/status.md: a row for every check and none besides, in their order; and the role that it
recommends is no wider than reading.
"""

import re
from pathlib import Path

from gitops_dsf.views.doctor.registry import CHECKS
from tests.support import yamlfast

PAGE = (Path(__file__).parents[2] / "docs/operate/status.md").read_text(encoding="utf-8")


def test_every_check_has_a_row_and_every_row_a_check() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    assert rows == [check.id for check in CHECKS]


def test_ids_are_short_and_each_is_there_once() -> None:
    ids = [check.id for check in CHECKS]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)?", one) for one in ids)


def test_every_check_asks_a_question() -> None:
    assert [check.id for check in CHECKS if not re.search(r"\?", check.title)] == []


def test_the_role_only_reads() -> None:
    role = yamlfast.load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
