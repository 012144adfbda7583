"""Writes the fields and functions that Argo CD and OCM accept, as data.

These are the fields of an ApplicationSet and of a Placement, from their CRDs; the functions of Argo
CD's Go templates, from its sources and sprig's; and the labels and annotations that its programs
know, from its sources and those of its GitOps engine.

The versions are those that `tests/hub/go.mod` pins, and Go fetches the sources. Run it when a pin
moves:

    python -m tools.argocd_api
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from gitops_dsf.argocd.fields import ALWAYS, OMITTED
from gitops_dsf.hub.placements import BUILT_INS

MODULES: Final = Path("tests/hub")
ARGOCD: Final = "github.com/argoproj/argo-cd/v3"
ENGINE: Final = "github.com/argoproj/argo-cd/gitops-engine/v3"
SPRIG: Final = "github.com/Masterminds/sprig/v3"
OCM_API: Final = "open-cluster-management.io/api"
CLUSTERS: Final = "cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml"
CLUSTER_SETS: Final = (
    "cluster/v1beta2/0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml"
)
PLACEMENTS: Final = (
    "cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml"
)
TARGET: Final = Path("gitops_dsf/argocd/api.json")
_KEPT: Final = (
    ALWAYS,
    OMITTED,
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
_MAX_INLINE: Final = 300
"""An object whose text is longer than this becomes a definition, which others refer to."""
_TYPES: Final = "pkg/apis/application/v1alpha1"
"""The folder of Argo CD's sources with the Go types of its objects."""
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED: Final = re.compile(r"^type (\w+) ((?:\[\]|map\[)\S+)$", re.MULTILINE)
_FIELD: Final = re.compile(r'^\s+(?:\w+\s+)?(\S+)\s+`json:"([^",]*)((?:,\w+)*)"', re.MULTILINE)
_SCALARS: Final = frozenset({"boolean", "integer", "string"})
# Pointers since Argo CD 3.4 that are plain booleans in 3.3. Without them the default is false, too.
_PLAIN_IN_OLDER: Final = frozenset({"prune", "selfHeal", "allowEmpty"})

# The folders of Argo CD's sources with its programs. The others are for developers and the command
# line.
PROGRAMS: Final = (
    "applicationset",
    "cmpserver",
    "common",
    "controller",
    "notification_controller",
    "pkg",
    "reposerver",
    "server",
    "util",
)
_IMPORTS: Final = re.compile(r"^import \(\n.*?^\)", re.MULTILINE | re.DOTALL)
_KEY: Final = re.compile(r'"((?:[a-z0-9-]+\.)+[a-z]+/(?!v[0-9])[\w.-]*)"')
"""A text of Go that can be the key of a label or an annotation, or begin one."""


def module(name: str, go: str) -> tuple[str, Path]:
    """The pinned version of a Go module, and the folder with its sources.

    Go fetches them if need be.
    """
    download = json.loads(_output(go, "mod", "download", "-json", name))
    return download["Version"], Path(download["Dir"])


def _output(*command: str) -> str:
    # The Go that go.mod names, which may be newer than the one that is installed.
    environment = {**os.environ, "GOTOOLCHAIN": "auto"}
    return subprocess.run(
        command, cwd=MODULES, env=environment, check=True, capture_output=True, text=True
    ).stdout


def spec_of(crd: Path) -> dict[str, Any]:
    """The structural schema of a CRD's `spec` without prose."""
    return _kept(_spec(crd), None)


def _spec(crd: Path) -> dict[str, Any]:
    spec: dict[str, Any] = _properties(crd)["spec"]
    return spec


def _properties(crd: Path) -> dict[str, Any]:
    versions = yaml.safe_load(crd.read_text(encoding="utf-8"))["spec"]["versions"]
    # A CRD has exactly one stored version, and the API server defaults and prunes what it stores.
    [stored] = [version for version in versions if version["storage"]]
    properties: dict[str, Any] = stored["schema"]["openAPIV3Schema"]["properties"]
    return properties


def inventory_of(crd: Path) -> dict[str, Any]:
    """The structural schema of an object of a CRD, without its metadata."""
    properties = _properties(crd)
    data = {"spec": properties["spec"], "status": properties["status"]}
    return _kept({"type": "object", "properties": data}, None)


class GoTypes:
    """The Go types of Argo CD's objects, as far as they say which fields their JSON leaves out."""

    def __init__(self, folder: Path) -> None:
        text = ""
        for file in sorted(folder.glob("*.go")):
            if not file.name.endswith(("_test.go", "generated.go", "generated.pb.go")):
                text += file.read_text(encoding="utf-8") + "\n"
        self._named: dict[str, str] = dict(_NAMED.findall(text))
        self._structs = {name: _FIELD.findall(body) for name, body in _STRUCT.findall(text)}

    def mark(self, schema: dict[str, Any], go_type: str) -> None:
        """Marks each field that Argo CD leaves out if it is empty, or writes if it is absent.

        Go's `omitempty` leaves out false, 0, an empty text, list and map, but no struct, and no
        pointer that is set. A struct is always written, unless `omitzero` leaves it out, and so is
        what has no `omitempty`.
        """
        go_type = self._named.get(go_type.lstrip("*"), go_type.lstrip("*"))
        if go_type.startswith("[]"):
            self.mark(schema.get("items", {}), go_type.removeprefix("[]"))
            return
        for field_type, name, options in self._structs.get(go_type, ()):
            if not name and ",inline" in options:
                self.mark(schema, field_type)
            field = schema.get("properties", {}).get(name)
            if field is None:
                continue
            # LabelSelector is a struct of Kubernetes, whose sources are not read.
            is_struct = field_type in self._structs or field_type == "metav1.LabelSelector"
            is_plain = not field_type.startswith("*") or name in _PLAIN_IN_OLDER
            if ",omitzero" in options:
                field[OMITTED] = True
            elif is_struct or (",omitempty" not in options and field.get("type") in _SCALARS):
                field[ALWAYS] = True
            elif ",omitempty" in options and is_plain:
                field[OMITTED] = True
            self.mark(field, field_type)


def _kept(schema: dict[str, Any], definitions: dict[str, str] | None) -> dict[str, Any]:
    """A schema without prose. With `definitions`, large parts of it become references to them."""
    kept: dict[str, Any] = {}
    for key in _KEPT:
        if key not in schema:
            continue
        value = schema[key]
        if key == "properties":
            # Sorted, so that a new version with another order of fields gives no diff.
            value = {name: _kept(inside, definitions) for name, inside in sorted(value.items())}
        elif key in {"items", "additionalProperties"} and isinstance(value, dict):
            value = _kept(value, definitions)
        elif key == "required":
            # The API server fills in defaults first.
            of_name = schema["properties"]
            value = [name for name in value if "default" not in of_name.get(name, {})]
        kept[key] = value
    text = json.dumps(kept, sort_keys=True)
    if definitions is None or len(text) <= _MAX_INLINE:
        return kept
    return {"$ref": definitions.setdefault(text, f"d{len(definitions)}")}


def functions(argocd: Path, sprig: Path, go: str) -> list[str]:
    """The names of the functions that a template of Argo CD can call.

    These are Go's own, sprig's and Argo CD's.
    """
    own = Path(_output(go, "env", "GOROOT").strip()) / "src" / "text" / "template" / "funcs.go"
    # The sources are searched as text. To ask Go itself, a program would have to be compiled with
    # all of Argo CD's dependencies.
    utils = argocd / "applicationset" / "utils"
    names = {
        *_names(own, r'"(\w+)":', start="func builtins() FuncMap {"),
        *_names(sprig / "functions.go", r'"(\w+)":', start="var genericMap = "),
        *_names(utils / "utils.go", r'sprigFuncMap\["(\w+)"\] ='),
        *_names(utils / "template_functions.go", r'template\.FuncMap\{"(\w+)":'),
    }
    return sorted(names - set(_names(utils / "utils.go", r'delete\(sprigFuncMap, "(\w+)"\)')))


def keys(argocd: Path, engine: Path) -> list[str]:
    """Every text in the sources of Argo CD that looks like the key of a label or annotation."""
    texts: set[str] = set()
    for folder in (*map(argocd.joinpath, PROGRAMS), engine / "pkg"):
        for file in folder.rglob("*.go"):
            if not _is_of_tests(file):
                # The paths of imports look like keys.
                texts.update(_KEY.findall(_IMPORTS.sub("", file.read_text(encoding="utf-8"))))
    return sorted(texts)


def _is_of_tests(file: Path) -> bool:
    return file.name.endswith("_test.go") or not {"testdata", "testing", "mocks"}.isdisjoint(
        file.parts
    )


def _names(file: Path, pattern: str, *, start: str | None = None) -> list[str]:
    """The matches of a pattern in a file, or only in the block that begins with `start`."""
    text = file.read_text(encoding="utf-8")
    if start:
        text = text.partition(start)[2].partition("\n}")[0]
    return re.findall(pattern, text)


def content(go: str = "go") -> str:
    """The data as it is to be written."""
    version, argocd = module(ARGOCD, go)
    _, engine = module(ENGINE, go)
    sprig_version, sprig = module(SPRIG, go)
    ocm_version, ocm = module(OCM_API, go)
    definitions: dict[str, str] = {}
    schema = _spec(argocd / "manifests/crds/applicationset-crd.yaml")
    GoTypes(argocd / _TYPES).mark(schema, "ApplicationSetSpec")
    application_set = _kept(schema, definitions)
    placement = spec_of(ocm / PLACEMENTS)
    # OCM takes any other text for a toleration that matches no taint.
    toleration = placement["properties"]["tolerations"]["items"]
    toleration["properties"]["operator"]["enum"] = ["Equal", "Exists", ""]
    # It evicts everything at any other text. An empty one is the default, or beside addOn not read.
    policy = placement["properties"]["prioritizerPolicy"]["properties"]
    policy["mode"]["enum"] = ["Additive", "Exact", ""]
    coordinate = policy["configurations"]["items"]["properties"]["scoreCoordinate"]["properties"]
    coordinate["builtIn"]["enum"] = [*BUILT_INS, ""]
    parts = {
        "argocd": version,
        "sprig": sprig_version,
        "ocm": ocm_version,
        "functions": functions(argocd, sprig, go),
        "keys": keys(argocd, engine),
        "applicationSet": application_set,
        "definitions": {name: json.loads(text) for text, name in definitions.items()},
        "placement": placement,
        "managedCluster": inventory_of(ocm / CLUSTERS),
        "managedClusterSet": inventory_of(ocm / CLUSTER_SETS),
    }
    # Sorted keys, and one line for each part, so that a diff of a new version is readable.
    lines: list[str] = []
    for name, part in parts.items():
        lines.append(f"{json.dumps(name)}: {json.dumps(part, sort_keys=True)}")
    return "{" + ",\n".join(lines) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(content(), encoding="utf-8")
