"""Lock files as text: whatever a page says reads back as it was said, and saying it twice changes nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.drift import filled
from gitops_dsf.repository.load import load_text
from gitops_dsf.sync.locks import updated

URL = "http://scorer.example.com/config"

LINES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp", "Co", "Cf"]), max_size=20)
TEXTS = st.one_of(
    LINES,
    st.lists(LINES, max_size=4).map("\n".join),
    st.sampled_from(
        ["yes", "017", "1_000", "12e03", "null", "~", "<<", "=", "%a", "@a", "`a`", "---", "..."]
    ),
    st.sampled_from(["`a`", "---", "...", "- a", "a: b", "a #b", "", "\t", "a\n---\nb"]),
)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS,
        "description": TEXTS,
        "source": st.fixed_dictionaries(
            {},
            optional={
                "host": TEXTS,
                "params": st.fixed_dictionaries({}, optional={"query": TEXTS, "step": st.integers(0, 10**6)}),
            },
        ),
        "scoring": st.fixed_dictionaries(
            {},
            optional={
                "path": TEXTS,
                "params": st.fixed_dictionaries(
                    {}, optional={"name": TEXTS, "interval": st.integers(0, 10**6)}
                ),
            },
        ),
    },
).map(filled)


def read(text: str, scorer: str = "cpu") -> Any:
    loaded = load_text(text, file="locks/cpu.yaml")
    assert loaded.diagnostics == ()
    return next(item.data["spec"] for item in loaded.documents if item.name == scorer)


@given(CONFIGS, CONFIGS)
def test_a_new_and_a_changed_lock_read_back_and_keep_still(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    old = updated("", scorer="cpu", config_url="http://old.example.com", config=first)
    assert read(old) == {"config": first, "configURL": "http://old.example.com"}
    new = updated(old, scorer="cpu", config_url=URL, config=second)
    assert read(new) == {"config": second, "configURL": URL}
    assert updated(new, scorer="cpu", config_url=URL, config=second) == new


@given(CONFIGS, CONFIGS)
def test_the_neighbour_in_the_file_keeps_its_word(first: dict[str, Any], second: dict[str, Any]) -> None:
    text = updated("", scorer="cpu", config_url=URL, config=first)
    text = updated(text, scorer="mem", config_url=URL, config=second)
    text = updated(text, scorer="mem", config_url="http://new.example.com", config=first)
    assert read(text) == {"config": first, "configURL": URL}
    assert read(text, "mem") == {"config": first, "configURL": "http://new.example.com"}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_breaks_stay_as_they_are(newline: str) -> None:
    text = updated("", scorer="cpu", config_url=URL, config={"name": "a"}).replace("\n", newline)
    changed = updated(text, scorer="cpu", config_url=URL, config={"name": "b"})
    assert changed == text.replace(f"name: a{newline}", f"name: b{newline}")


def test_what_people_wrote_beside_a_lock_stays_byte_for_byte() -> None:
    neighbour = (
        "# Copyright\n---\napiVersion: gitops-dsf.io/v1alpha1\nkind: ScorerLock\nmetadata: {name:  "
        " mem}\nspec: {configURL:  'http://m'}\n"
    )
    mine = """\
---
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata:
  name: cpu
spec:
  config:
    name: a   # as billing knows it
    # the owner promised to drop it
    description: old
    # agreed on in May
    scoring:
      host: http://scorer.example.com
  configURL: http://scorer.example.com/config
"""
    found = updated(
        neighbour + mine,
        scorer="cpu",
        config_url=URL,
        config={"name": "b", "scoring": {"host": "http://scorer.example.com"}},
    )
    assert found == neighbour + mine.replace("name: a ", "name: b ").replace("    description: old\n", "")
