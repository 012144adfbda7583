"""Laws of locks.

What is admitted adds no error, whatever a page says reads back, and any bytes are fields or a
reason.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.diagnostics import Severity
from gitops_dsf.hub.drift import Config, ConfigError, filled
from gitops_dsf.pipeline import check
from gitops_dsf.repository.files import write_files
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.sync.lockfile import updated
from gitops_dsf.sync.locks import LockState, weigh
from gitops_dsf.sync.page import FetchedPage, read_page
from tests.support.fleets import JSON_VALUES, FleetSources, fleets, write
from tests.support.laws import examples

NAMES = st.sampled_from(["score_a", "score_b", "Score-A", "x" * 300, ""])
QUERIES = st.sampled_from(["", "up", "sum(", "up[5m]"])


def page(name: str, query: str, interval: int) -> dict[str, Any]:
    found: dict[str, Any] = {"scoring": {"params": {}}, "source": {"params": {}}}
    for section, key, value in (
        ("scoring", "name", name),
        ("scoring", "interval", interval),
        ("source", "query", query),
    ):
        if value:
            found[section]["params"][key] = value
    return {key: value for key, value in found.items() if value["params"]}


@given(
    fleets(), st.lists(st.builds(page, NAMES, QUERIES, st.integers(-1, 90)), min_size=5, max_size=5)
)
@settings(examples(4, soak=240))
def test_what_is_admitted_adds_no_error(sources: FleetSources, pages: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        root = write(Path(folder) / "fleet", sources)
        files, refused = admitted(root, pages)
        write_files(root, files)
        assert [item for item in check(root).diagnostics if item.severity is Severity.ERROR] == []
        again, refused_again = admitted(root, pages)
        assert again == {file: (root / file).read_text(encoding="utf-8") for file in again}
        assert set(refused_again) == set(refused)


def admitted(root: Path, pages: list[dict[str, Any]]) -> tuple[dict[str, str], list[str]]:
    loaded = load(root)
    declared = declare(loaded)
    full = [item.name for item in declared.scorers if item.value.spec.config_sync_mode == "Full"]
    texts = {
        file.relative_to(root).as_posix(): file.read_text("utf-8")
        for file in root.glob("locks/*.yaml")
    }
    answers = dict(zip(full, pages, strict=False))
    plan = weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)
    refused = [item.scorer for item in plan.outcomes if item.verdict is LockState.REFUSED]
    return dict(plan.files), refused


URL = "http://scorer.example.com/config"

LINES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp", "Co", "Cf"]), max_size=20
)
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
                "params": st.fixed_dictionaries(
                    {}, optional={"query": TEXTS, "step": st.integers(0, 10**6)}
                ),
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


@examples(15, soak=1000)
@given(CONFIGS, CONFIGS)
def test_a_new_and_a_changed_lock_read_back_and_keep_still(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    old = updated("", scorer="cpu", config_url="http://old.example.com", config=first)
    assert read(old) == {"config": first, "configURL": "http://old.example.com"}
    new = updated(old, scorer="cpu", config_url=URL, config=second)
    assert read(new) == {"config": second, "configURL": URL}
    assert updated(new, scorer="cpu", config_url=URL, config=second) == new


@examples(15, soak=1000)
@given(CONFIGS, CONFIGS)
def test_the_neighbour_in_the_file_keeps_its_word(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
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
    assert found == neighbour + mine.replace("name: a ", "name: b ").replace(
        "    description: old\n", ""
    )


def answered(body: bytes) -> FetchedPage:
    return FetchedPage(
        url="http://scorer.example.com/config?token=secret", media="application/json", body=body
    )


@given(st.binary(max_size=60) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_fields_or_a_reason(body: bytes) -> None:
    said = outcome(body)
    assert isinstance(said, dict) or (said.isprintable() and "secret" not in said)


def outcome(body: bytes) -> Config | str:
    try:
        return read_page(answered(body))
    except ConfigError as error:
        return str(error)
