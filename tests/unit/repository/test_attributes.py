"""Whether a file of attributes may name one by which git changes the content of files."""

import pytest

from gitops_dsf.repository.recorded.attributes import may_change_content
from tests.support.pages import ROOT


@pytest.mark.parametrize(
    "line",
    [
        "*.yaml filter=lfs",
        "*.yaml -text filter",
        "[attr]large filter=lfs diff=lfs",
        '"with space.yaml"\tident',
        "*.yaml working-tree-encoding=UTF-16",
    ],
)
def test_one_that_names_such_an_attribute_may(line: str) -> None:
    assert may_change_content(f"# first\n{line}\n* text=auto\n".encode())


def test_that_of_init_and_an_empty_one_do_not() -> None:
    written_by_init = (ROOT / "repo-template/.gitattributes").read_bytes()
    assert written_by_init
    assert not may_change_content(written_by_init)
    assert not may_change_content(b"")
    assert not may_change_content(
        b"*.png binary\n*.yaml text working-tree\n\xff\xfe export-ignore\n"
    )
