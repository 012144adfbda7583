"""Every code block of the documents is run, or read by what it is for.

YAML is a whole object, a part of a file of a fleet repository, or the configuration of another program; its
first line names the file or the program. Blocks of Python and of a shell
session (`console`) stand on pages that a test runs. Other shell commands are checked word by word in
test_docs.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dsf_scorer import Series
from gitops_dsf.repository.model.kinds import KINDS
from tests.contract.test_docs import FENCE, PAGES, ROOT, blocks, name
from tests.support import yamlfast
from tests.support.diagnostics_docs import BASE

ALL = [*PAGES, *sorted((ROOT / "examples").glob("**/*.md"))]
LANGUAGES = {"yaml", "python", "console", "sh", "bash", "text", "diff", "promql", ""}
"""Without a language: commands, output and pictures."""
SHOWN = {"text", "diff", "promql"}
RUN_BY = {
    "CONTRIBUTING.md": "contract/test_code_blocks.py",
    "docs/decisions/backtest.md": "contract/test_backtest_docs.py",
    "docs/reference/outputs.md": "contract/test_python_api.py",
    "docs/decisions/preview.md": "contract/test_testing_scores_docs.py",
    "docs/start/quickstart.md": "contract/test_tutorial.py",
    "docs/scores/scorers.md": "unit/scorer/test_guide.py",
}
"""The test that runs the Python and the shell sessions of a page."""
PARTS = {
    "gitops-dsf.yaml": "gitops-dsf.yaml",
    "scorers": "scorers/cpu.yaml",
    "apps": "apps/web.yaml",
}
"""The file of the base repository that a part of a file is merged into, by file or folder."""
ELSEWHERE = ("# prometheus.yml of ", "# configuration of ", "# an Application of Argo CD, below spec")


@pytest.mark.parametrize("page", ALL, ids=name)
def test_every_block_has_a_language_that_something_checks(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    languages = {language for _, language, _ in FENCE.findall(text)}
    assert languages <= LANGUAGES
    if page.name != "diagnostics.md" and languages & {"python", "console"}:
        test = RUN_BY[name(page)]
        assert page.name in (ROOT / "tests" / test).read_text("utf-8")


def unreadable(text: str) -> list[str]:
    """Why a YAML block is neither a whole object, nor a known part, nor something for another program."""
    first = text.splitlines()[0]
    if first.startswith(ELSEWHERE):
        yamlfast.load(text)
        return []
    wrong = []
    for document in yamlfast.load_all(text):
        if {"apiVersion", "kind", "metadata"} <= document.keys():
            continue
        target = PARTS.get(first.removeprefix("# ").partition("/")[0])
        if not first.startswith("# ") or target is None:
            wrong.append(f"the first line does not say what this is: {first}")
            continue
        whole = merged(yamlfast.load(BASE[target]), document)
        KINDS[whole["apiVersion"], whole["kind"]].model_validate(whole)
    return wrong


def merged(whole: Any, part: Any) -> Any:
    """A mapping with the fields of a part, field by field."""
    if not isinstance(whole, Mapping) or not isinstance(part, Mapping):
        return part
    return {**whole, **{key: merged(whole.get(key), value) for key, value in part.items()}}


@pytest.mark.parametrize("page", [page for page in ALL if page.name != "diagnostics.md"], ids=name)
def test_every_yaml_block_is_what_it_says(page: Path) -> None:
    assert [problem for text in blocks(page, "yaml") for problem in unreadable(text)] == []


@pytest.mark.parametrize(
    "text", ["spec: {agent: {}}\n", "# scorer\nspec: {}\n", "# notes/x.yaml\nspec: {}\n"]
)
def test_a_part_without_its_file_is_found(text: str) -> None:
    assert len(unreadable(text)) == 1


def test_a_part_with_a_wrong_field_is_found() -> None:
    with pytest.raises(ValueError, match="imagee"):
        unreadable("# gitops-dsf.yaml\nspec: {agent: {imagee: x}}\n")


def test_the_first_change_of_contributing_works() -> None:
    test, change = blocks(ROOT / "CONTRIBUTING.md", "python")
    added: dict[str, Any] = {}
    exec(change, added)  # noqa: S102 - it is ours
    names = {"Series": type("Series", (Series,), {"first": added["first"]})}
    exec(re.sub(r"^from dsf_scorer import Series$", "", test, flags=re.MULTILINE), names)  # noqa: S102
    names["test_first_is_the_oldest_value"]()
