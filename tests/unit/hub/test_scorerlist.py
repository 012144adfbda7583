"""The list of scorers: a reader takes a whole one, and nothing else."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.scorerlist import (
    ListConfigMap,
    ListError,
    listed_scorer,
    read_index,
    read_scorers,
)
from gitops_dsf.hub.scorers import DynamicScorer, ScorerSpec
from tests.support.scorerlists import config_maps

Maps = dict[str, dict[str, Any]]
INDEX = "gitops-dsf-scorers"


def rendered(*names: str, padding: int = 0, **spec: Any) -> Maps:
    """The ConfigMaps of these scorers, as JSON has them, by name."""
    written = {"scoreTTLSeconds": 900, "description": "x" * padding, **spec}
    specs = {name: {**written, "scoring": {"params": {"name": name}}} for name in names}
    return {item["metadata"]["name"]: item for item in config_maps(specs)}


def read(maps: Maps) -> dict[str, ScorerSpec]:
    stored = {name: msgspec.convert(item, ListConfigMap) for name, item in maps.items()}
    return read_scorers(read_index(stored.get(INDEX)), stored)


def test_what_was_rendered_is_read() -> None:
    specs = read(rendered("cpu", "mem"))
    assert sorted(specs) == ["cpu", "mem"]
    assert specs["cpu"].ttl == 900
    assert specs["mem"].scoring.params.name == "mem"
    assert read(rendered()) == {}, "git has no scorer"


def test_a_large_list_has_several_parts_of_which_none_is_too_large() -> None:
    names = [f"scorer-{number:03}" for number in range(300)]
    maps = rendered(*names, padding=4000)
    parts = sorted(maps.keys() - {INDEX})
    assert len(parts) > 2
    assert all(name == f"{INDEX}-{number}" for number, name in enumerate(parts))
    for name in parts:
        assert sum(len(key) + len(text) for key, text in maps[name]["data"].items()) <= 512_000
    assert sorted(read(maps)) == names


def test_two_edits_change_two_lines_of_the_index() -> None:
    """So git can merge two pull requests, and what it merges is a whole list."""

    def lines(maps: Maps) -> list[str]:
        text: str = maps[INDEX]["data"]["index"]
        return text.splitlines()

    before = lines(rendered("a", "b", "c"))
    specs = {name: {"scoring": {"params": {"name": name}}} for name in "abc"}
    specs |= {name: {"scoreTTLSeconds": 900, "description": "", **specs[name]} for name in "abc"}
    specs["b"]["scoreTTLSeconds"] = 60
    after = lines({item["metadata"]["name"]: item for item in config_maps(specs)})
    assert len(before) == len(after)
    [(old, new)] = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    assert old.startswith('    "b": "')
    assert new.startswith('    "b": "')


def test_a_field_of_a_newer_version_is_no_obstacle() -> None:
    """What an older reconciler does not know yet it leaves out."""
    assert read(rendered("cpu", fromTheFuture={"a": 1}))["cpu"].ttl == 900


def with_index(change: Callable[[dict[str, Any]], Any]) -> Callable[[Maps], None]:
    def apply(maps: Maps) -> None:
        index = json.loads(maps[INDEX]["data"]["index"])
        change(index)
        maps[INDEX]["data"]["index"] = json.dumps(index)

    return apply


def older_part(maps: Maps) -> None:
    maps[f"{INDEX}-0"] = rendered("cpu", "mem", scoreTTLSeconds=60)[f"{INDEX}-0"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda maps: maps.pop(INDEX), "ConfigMap gitops-dsf-scorers is missing"),
        (lambda maps: maps[INDEX].pop("data"), "has no key index"),
        (lambda maps: maps[INDEX]["data"].update(index="{"), "key index"),
        (lambda maps: maps[INDEX]["data"].update(index="[]"), "key index: Expected `object`"),
        (lambda maps: maps[INDEX]["metadata"].pop("labels"), "was not rendered by gitops-dsf"),
        (lambda maps: maps[f"{INDEX}-0"]["metadata"].pop("labels"), "was not rendered by"),
        (with_index(lambda index: index.update(format=2)), "has format 2"),
        (with_index(lambda index: index.update(format=2, parts="x")), "format 2, and this"),
        (with_index(lambda index: index.update(parts=9)), "<= 8"),
        (with_index(lambda index: index["scorers"].pop("cpu")), "scorer cpu of ConfigMap"),
        (with_index(lambda index: index["scorers"].update(new="0")), "new of ConfigMap"),
        (lambda maps: maps.pop(f"{INDEX}-0"), "cpu, mem of ConfigMap"),
        (
            lambda maps: maps[f"{INDEX}-0"]["data"].clear(),
            "cannot be found in gitops-dsf-scorers-0",
        ),
        (lambda maps: maps[f"{INDEX}-0"]["data"].update(cpu="{}"), "scorer cpu of ConfigMap"),
        (older_part, "Argo CD has applied only one of them yet"),
    ],
)
def test_what_is_not_whole_is_no_list(change: Callable[[Maps], object], words: str) -> None:
    maps = rendered("cpu", "mem")
    change(maps)
    with pytest.raises(ListError) as raised:
        read(maps)
    assert words in str(raised.value)


def test_a_scorer_that_cannot_be_decoded_is_named() -> None:
    with pytest.raises(ListError) as raised:
        read(rendered("cpu", scoreTTLSeconds="soon"))
    assert "gitops-dsf-scorers-0, key cpu: " in str(raised.value)
    assert "scoreTTLSeconds" in str(raised.value)


def test_a_scorer_without_an_object_is_known_by_its_name() -> None:
    live = msgspec.convert(
        {
            "metadata": {"name": "cpu", "uid": "u1", "generation": 7},
            "spec": {"scoreTTLSeconds": 5},
            "status": {"healthStatus": "Active"},
        },
        DynamicScorer,
    )
    joined = listed_scorer("cpu", ScorerSpec(ttl=900), live, namespace="hub")
    assert (joined.spec.ttl, joined.metadata.generation, joined.health) == (900, 7, "Active")
    assert joined.identity == "u1"
    alone = listed_scorer("cpu", ScorerSpec(ttl=900), None, namespace="hub")
    assert (alone.identity, alone.metadata.uid, alone.health) == ("cpu", "", "")
