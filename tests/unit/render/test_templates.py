"""The files of manifests/ and how their holes are filled."""

from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.render import objects

TEMPLATE = """\
kind: ConfigMap
metadata:
  name: ${name}
spec:
  fixed: {ports: [80, [443]], empty: null, host: example.com}
  items:
  - one
  - $each
  - ${more}
  - [two, "${name}"]
  named: prefix-${name}
  gone: ${absent}
---
kind: Secret
metadata:
  name: always
data: {key: value}
"""


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setattr(objects, "_MANIFESTS", tmp_path)
    name = f"{tmp_path.name}.yaml"
    (tmp_path / name).write_text(TEMPLATE)
    return name


def fill(file: str, name: str, more: list[str]) -> list[Any]:
    return objects.filled(file, name=name, more=more, absent=None)


def test_holes_become_values_and_the_rest_stays(file: str) -> None:
    config, secret = fill(file, "web", ["a", "b"])
    assert config["metadata"]["name"] == "web"
    assert config["spec"] == {
        "fixed": {"ports": [80, 443], "host": "example.com"},
        "items": ["one", "$each", "a", "b", "two", "web"],
        "named": "prefix-web",
    }
    assert secret["data"] == {"key": "value"}


def test_one_filling_leaves_nothing_for_the_next(file: str) -> None:
    first = fill(file, "web", ["a"])
    # What is around a hole, and the object itself, is of one filling alone.
    first[0]["spec"]["items"].append("b")
    first[1]["metadata"]["labels"]["team"] = "web"
    first[1]["data"] = {}
    config, secret = fill(file, "mail", [])
    assert config["spec"]["items"] == ["one", "$each", "two", "mail"]
    assert config["spec"]["named"] == "prefix-mail"
    assert secret["data"] == {"key": "value"}
    assert "team" not in secret["metadata"]["labels"]
