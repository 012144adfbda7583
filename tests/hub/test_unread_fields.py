"""Which fields of Placements OCM's CRD has and OCM's own source never reads.

The source is that of the pinned modules, in the Go module cache. When a pin moves this says what
the new OCM reads, or has besides.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.resolve.raw_placements import UNREAD
from tests.hub.controlplane.golang import find_go

pytestmark = pytest.mark.family("ocm")

GROUP = "open-cluster-management.io"
READERS = ("ocm", "sdk-go", "addon-framework")
Path_ = tuple[str, ...]


@lru_cache(maxsize=1)
def modules() -> dict[str, Path]:
    """The folder of each pinned module of OCM."""
    go = find_go()
    found = {}
    for name in ("api", *READERS):
        module = f"{GROUP}/{name}"
        go.run("mod", "download", module, what=module)
        found[name] = Path(go.run("list", "-m", "-f", "{{.Dir}}", module, what=module).strip())
    return found


@lru_cache(maxsize=1)
def selected() -> frozenset[str]:
    """Every Go name that OCM's own code selects (`x.Name`) or sets (`Name:`), tests and generated
    code left out.
    """
    names: set[str] = set()
    for module in READERS:
        for path in (modules()[module] / "pkg").rglob("*.go"):
            if not path.name.endswith("_test.go") and not path.name.startswith("zz_generated"):
                text = path.read_text(encoding="utf-8")
                names.update(
                    re.findall(r"\.([A-Z]\w*)\b", text), re.findall(r"\b([A-Z]\w*):", text)
                )
    return frozenset(names)


@lru_cache(maxsize=1)
def go_names() -> dict[str, set[str]]:
    """JSON name of a field to the names that Go structs of the API give it."""
    found: dict[str, set[str]] = {}
    for path in modules()["api"].rglob("types*.go"):
        for name, key in re.findall(
            r'^\s*(\w+)\s+[^`\n]+`json:"(\w+)', path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            found.setdefault(key, set()).add(name)
    return found


def fields(schema: dict[str, Any], path: Path_ = ()) -> Iterator[Path_]:
    """Every field below a schema, those of list items included."""
    while schema.get("type") == "array":
        schema = schema["items"]
    for key, inside in schema.get("properties", {}).items():
        yield (*path, key)
        yield from fields(inside, (*path, key))


def is_read(field: str) -> bool:
    return not selected().isdisjoint(go_names().get(field, {field[0].upper() + field[1:]}))


def placement() -> dict[str, Any]:
    """The schema of its spec."""
    [path] = (modules()["api"] / "cluster/v1beta1").glob("*placements.crd.yaml")
    crd = yaml.safe_load(path.read_text(encoding="utf-8"))
    [version] = [item for item in crd["spec"]["versions"] if item["name"] == "v1beta1"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def unread() -> set[Path_]:
    """Fields that nothing reads; what is inside of such a field is not listed."""
    found: set[Path_] = set()
    for path in fields(placement()):
        if not is_read(path[-1]) and not any(path[: len(outer)] == outer for outer in found):
            found.add(path)
    return found


def test_the_fields_of_placements_that_nothing_reads_are_those_that_validate_names() -> None:
    in_the_crd = {path[0] for path in fields(placement())}
    assert unread() == {(field,) for field in UNREAD if field in in_the_crd}
    assert [field for field in UNREAD if is_read(field)] == []
