"""Editing files that people wrote: what is not edited stays byte for byte, and no comment is lost.

Aspects covered: neighbours of an edited and of a removed document; comments around what goes; texts
that look like comments; line breaks, byte order marks and document ends; documents that begin on
the line of their marker.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.repository.yamledit import YamlFile

HEADER = "# Copyright of the team\n"
FIRST = """\
---
# Frankfurt
kind: ManagedCluster
metadata:
  name: fra
"""
SECOND = """\
---   # Munich
kind: ManagedCluster
metadata:
  name:   muc
  labels:
      odd: "yes"   # six spaces
spec: {taints: [ {key: x,   effect: NoSelect} ]}
# end of Munich
"""
THIRD = """\
--- {kind: ManagedCluster,   metadata: {name: ber}}
"""
FILE = HEADER + FIRST + SECOND + THIRD


@pytest.mark.parametrize(
    ("name", "left"), [("fra", SECOND + THIRD), ("muc", FIRST + THIRD), ("ber", FIRST + SECOND)]
)
def test_a_document_goes_and_nothing_else_changes(name: str, left: str) -> None:
    file = YamlFile(FILE)
    assert file.remove("ManagedCluster", name)
    assert file.text == HEADER + left


def test_a_file_whose_documents_are_gone_holds_nothing() -> None:
    file = YamlFile(FILE)
    for name in ("fra", "muc", "ber"):
        assert not file.holds_nothing
        assert file.remove("ManagedCluster", name)
    assert file.holds_nothing


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_an_edit_changes_its_own_document_alone(newline: str, mark: str) -> None:
    file = YamlFile(mark + FILE.replace("\n", newline))
    document = file.find("ManagedCluster", "fra")
    assert document is not None
    document["metadata"]["labels"] = {"region": "eu"}
    edited = FIRST + "  labels:\n    region: eu\n"
    assert file.text == mark + (HEADER + edited + SECOND + THIRD).replace("\n", newline)


def test_what_is_looked_at_and_left_stays_as_it_is() -> None:
    file = YamlFile(FILE)
    assert file.find("ManagedCluster", "muc") is not None
    assert file.text == FILE


def test_mixed_line_breaks_stay_where_nothing_is_edited() -> None:
    file = YamlFile(FIRST.replace("\n", "\r\n") + SECOND)
    assert file.remove("ManagedCluster", "fra")
    assert file.text == SECOND


def test_the_comments_around_a_key_that_goes_stay_where_they_stood() -> None:
    text = """\
kind: ManagedCluster
metadata:
  name: fra
  labels:
    # not the billing region
    region: eu   # Europe
    # asked for by accounting
    vendor: x
    # who is called at night
    team: y
"""
    file = YamlFile(text)
    document = file.find("ManagedCluster", "fra")
    assert document is not None
    del document["metadata"]["labels"]["vendor"]
    assert file.text == text.replace("    vendor: x\n", "")


def test_the_last_comment_stays_although_the_line_before_it_goes() -> None:
    text = (
        "kind: ManagedCluster\nmetadata:\n  name: fra\n  labels:\n    team: y\n# reviewed in May\n"
    )
    file = YamlFile(text)
    document = file.find("ManagedCluster", "fra")
    assert document is not None
    del document["metadata"]["labels"]
    assert file.text == "kind: ManagedCluster\nmetadata:\n  name: fra\n# reviewed in May\n"


def test_a_text_that_looks_like_a_comment_goes_with_the_text() -> None:
    text = "kind: ScorerLock\nmetadata:\n  name: cpu\nquery: |\n  # all nodes\n  up\n"
    file = YamlFile(text)
    document = file.find("ScorerLock", "cpu")
    assert document is not None
    document["query"] = "down"
    assert file.text == "kind: ScorerLock\nmetadata:\n  name: cpu\nquery: |-\n  down\n"


def test_a_text_with_document_ends_is_not_edited() -> None:
    text = "kind: ManagedCluster\nmetadata: {name: fra}\n... # done\n# next\n%YAML 1.2\n"
    file = YamlFile(f"{text}---\n{FIRST}")
    assert file.find("ManagedCluster", "fra") is not None
    assert YamlFile(text).find("ManagedCluster", "fra") is None
    assert YamlFile(text).text == text


@given(
    st.lists(
        st.sampled_from(
            [
                "---\n",
                "--- # c\n",
                "--- a: 1\n",
                "...\n",
                "a: 1\n",
                "# c\n",
                "\n",
                "----\n",
                "--- |\n",
                "x",
            ]
        )
    )
)
def test_documents_joined_are_the_text(lines: list[str]) -> None:
    assert YamlFile("".join(lines)).text == "".join(lines)
