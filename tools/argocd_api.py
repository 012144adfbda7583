"""Writes what Argo CD and OCM accept as data: the fields of an ApplicationSet and of a Placement, from their
CRDs, and the functions of Argo CD's Go templates, from its sources and sprig's.

The versions are those that `tests/hub/go.mod` pins, and Go fetches the sources. Run it when a pin moves:

    python -m tools.argocd_api
"""

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, Final

import yaml

MODULES: Final = Path("tests/hub")
ARGOCD: Final = "github.com/argoproj/argo-cd/v3"
SPRIG: Final = "github.com/Masterminds/sprig/v3"
OCM_API: Final = "open-cluster-management.io/api"
PLACEMENTS: Final = "cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml"
TARGET: Final = Path("gitops_dsf/argocd/api.json")
_KEPT: Final = (
    "additionalProperties",
    "enum",
    "format",
    "items",
    "maximum",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
)
_SHARED: Final = 300
"""A part that is written more than once and is longer than this becomes a definition."""


def module(name: str, go: str) -> tuple[str, Path]:
    """The pinned version of a Go module, and the folder with its sources. Go fetches them if need be."""
    found = json.loads(_said(go, "mod", "download", "-json", name))
    return found["Version"], Path(found["Dir"])


def _said(*command: str) -> str:
    environment = {**os.environ, "GOTOOLCHAIN": "auto"}  # the one that go.mod names
    return subprocess.run(
        command, cwd=MODULES, env=environment, check=True, capture_output=True, text=True
    ).stdout


def application_set(argocd: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The structural schema of `spec` of an ApplicationSet without its prose, and the parts that it repeats,
    by name.
    """
    text = (argocd / "manifests" / "crds" / "applicationset-crd.yaml").read_text(encoding="utf-8")
    [version] = yaml.safe_load(text)["spec"]["versions"]
    whole = _kept(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
    found: Counter[str] = Counter()
    _count(whole, found)
    shared = sorted(
        (text for text, count in found.items() if count > 1 and len(text) > _SHARED),
        key=lambda text: (len(text), text),
    )
    names = {text: f"d{index}" for index, text in enumerate(shared)}
    definitions = {names[text]: _referring(json.loads(text), names, inside=True) for text in shared}
    return _referring(whole, names), definitions


def placement(ocm: Path) -> dict[str, Any]:
    """The structural schema of `spec` of a Placement without its prose."""
    [version] = yaml.safe_load((ocm / PLACEMENTS).read_text(encoding="utf-8"))["spec"]["versions"]
    spec = _kept(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
    # OCM takes any other text for a toleration that matches no taint.
    spec["properties"]["tolerations"]["items"]["properties"]["operator"]["enum"] = ["Equal", "Exists", ""]
    return spec


def _kept(schema: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key in _KEPT:
        if key in schema:
            value = schema[key]
            if key == "properties":
                value = {name: _kept(inside) for name, inside in sorted(value.items())}
            elif key in {"items", "additionalProperties"} and isinstance(value, dict):
                value = _kept(value)
            elif key == "required":  # the API server fills in defaults first
                value = [name for name in value if "default" not in schema["properties"].get(name, {})]
            kept[key] = value
    return kept


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


def _parts(schema: dict[str, Any]) -> list[dict[str, Any]]:
    inside = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return [one for one in inside if isinstance(one, dict)]


def _count(schema: dict[str, Any], found: Counter[str]) -> None:
    text = _text(schema)
    found[text] += 1
    if found[text] == 1:
        for part in _parts(schema):
            _count(part, found)


def _referring(schema: dict[str, Any], names: dict[str, str], *, inside: bool = False) -> dict[str, Any]:
    if not inside and (name := names.get(_text(schema))) is not None:
        return {"$ref": name}
    replaced = dict(schema)
    if "properties" in schema:
        replaced["properties"] = {name: _referring(one, names) for name, one in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            replaced[key] = _referring(schema[key], names)
    return replaced


def functions(argocd: Path, sprig: Path, go: str) -> list[str]:
    """The names of the functions that a template of Argo CD can call: Go's own, sprig's and Argo CD's."""
    own = (Path(_said(go, "env", "GOROOT").strip()) / "src" / "text" / "template" / "funcs.go").read_text(
        encoding="utf-8"
    )
    generic = (sprig / "functions.go").read_text(encoding="utf-8")
    folder = argocd / "applicationset" / "utils"
    utils = (folder / "utils.go").read_text(encoding="utf-8")
    bound = (folder / "template_functions.go").read_text(encoding="utf-8")  # to the template that calls them
    names = {
        *re.findall(r'"(\w+)":', _between(own, "func builtins() FuncMap {", "\n}")),
        *re.findall(r'"(\w+)":', _between(generic, "var genericMap = ", "\n}")),
        *re.findall(r'sprigFuncMap\["(\w+)"\] =', utils),
        *re.findall(r'template\.FuncMap\{"(\w+)":', bound),
    }
    return sorted(names - set(re.findall(r'delete\(sprigFuncMap, "(\w+)"\)', utils)))


def _between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0]


def content(go: str = "go") -> str:
    """The data as it is to be written."""
    version, argocd = module(ARGOCD, go)
    sprig_version, sprig = module(SPRIG, go)
    ocm_version, ocm = module(OCM_API, go)
    spec, definitions = application_set(argocd)
    parts = {
        "argocd": version,
        "sprig": sprig_version,
        "ocm": ocm_version,
        "functions": functions(argocd, sprig, go),
        "applicationSet": spec,
        "definitions": definitions,
        "placement": placement(ocm),
    }
    lines = (f"{json.dumps(name)}: {json.dumps(part, sort_keys=True)}" for name, part in parts.items())
    return "{" + ",\n".join(lines) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(content(), encoding="utf-8")
