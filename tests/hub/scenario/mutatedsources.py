"""A seeded corpus of sources and sync policies of applications.

Healthy ones, and copies with mistakes.
"""

import copy
import random
from collections.abc import Iterator
from typing import Any

Fields = dict[str, Any]

REPOSITORY = "https://git.example.com/web.git"
SOURCES: tuple[Fields, ...] = (
    {"path": "overlays/{{.name}}", "targetRevision": "main"},
    {
        "path": ".",
        "helm": {
            "releaseName": "web",
            "valueFiles": ["values.yaml", "{{.name}}.yaml"],
            "parameters": [{"name": "replicas", "value": "3", "forceString": True}],
            "fileParameters": [{"name": "config", "path": "files/config.ini"}],
            "values": "cluster: {{.clusterName}}\n",
            "ignoreMissingValueFiles": True,
            "apiVersions": ["apps/v1"],
        },
    },
    {
        "path": ".",
        "helm": {
            "valuesObject": {"cluster": "{{ .name | lower }}", "list": [1, "a"], "on": True},
            "skipCrds": True,
        },
    },
    {
        "path": "base",
        "kustomize": {
            "images": ["nginx=nginx:2"],
            "replicas": [{"name": "web", "count": 2}],
            "commonLabels": {"cluster": "{{.name}}"},
            "patches": [{"patch": "[]", "target": {"kind": "Deployment"}, "options": {"a": True}}],
            "namespace": "web",
        },
    },
    {
        "path": "plain",
        "directory": {
            "recurse": True,
            "include": "*.yaml",
            "jsonnet": {"extVars": [{"name": "a", "value": "b", "code": True}], "libs": ["lib"]},
        },
    },
    {
        "path": "plugged",
        "plugin": {
            "name": "cmp",
            "env": [{"name": "CLUSTER", "value": "{{.name}}"}],
            "parameters": [
                {"name": "a", "string": "b"},
                {"name": "c", "array": ["d"]},
                {"name": "e", "map": {"f": "g"}},
            ],
        },
    },
)
POLICIES: tuple[Fields | None, ...] = (
    None,
    {"automated": {"prune": True, "selfHeal": True}, "syncOptions": ["CreateNamespace=true"]},
    {
        "automated": {},
        "managedNamespaceMetadata": {"labels": {"cluster": "{{.name}}"}},
        "retry": {"limit": 3, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "1m"}},
    },
)
TEMPLATES = (
    "{{.name}}",
    "{{ .clusterName | trunc 5 }}",
    '{{ if eq .name "east" }}a{{ else }}b{{ end }}',
    '{{ replace "." "-" .server | normalize }}',
    "{{- /* a comment */ -}}{{ .reason }}",
    "{{ $short := lower .name }}{{ $short }}",
    '{{ default "none" .reason | quote }}',
    '{{ printf "%s-%s" .name .clusterName }}',
    "{{`{{ .Release.Name }}`}}",
    "{{.name",
    "{{name}}",
    "{{.cluster}}",
    "{{.cluster.name}}",
    "{{.metadata.labels.region}}",
    "{{ .labels.env }}",
    '{{ index .labels "example.com/tier" }}',
    '{{ index .claims "zone.example.com" | lower }}',
    '{{ .labels.region | default "eu" }}',
    "{{ if .labels.region }}{{ .labels.region }}{{ end }}",
    "{{ .labels.region }}",
    "{{ .labels.absent }}",
    "{{ .labels.example.com/tier }}",
    "{{ .labels.env.x }}",
    "{{ .labels }}",
    "{{ .name | foo }}",
    "{{ .Values.image }}",
    "{{ .name.short }}",
    '{{ trunc "5" .name }}',
    "{{ lower }}",
    "{{ end }}",
    "{{ if .name }}",
    "{{ if .region }}a{{ end }}",
    "{{ .name .server }}",
    "{{ $x }}",
    "{{ .my-key }}",
    "{{ env `HOME` }}",
    "{{ score }}",
    "{{.score}}",
    "{{ repeat 3 .name }}",
    "{{ range until 2 }}x{{ end }}",
)
KEPT = frozenset({"repoURL", "path"})
"""Fields that stay, because other rules than those of Argo CD's CRD are about them."""


def corpus(seed: int, count: int) -> Iterator[tuple[Fields, Fields | None]]:
    """Sources with their sync policies.

    One in six is as it was; the others have one to three changes.
    """
    chance = random.Random(seed)
    for _ in range(count):
        source = {"repoURL": REPOSITORY, **copy.deepcopy(chance.choice(SOURCES))}
        policy = copy.deepcopy(chance.choice(POLICIES))
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            chance.choice((_retyped, _renamed, _removed, _templated, _templated, _scratched))(
                chance, source if policy is None or chance.random() < 0.75 else policy
            )
        yield source, policy


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with one of its keys or indices, at any depth."""
    found = []
    for key in (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    ):
        if key not in KEPT or value.get("repoURL") is None:
            found.append((value, key))
        found += _places(value[key])
    return found


def _retyped(chance: random.Random, fields: Fields) -> None:
    if places := _places(fields):
        owner, key = chance.choice(places)
        owner[key] = chance.choice(("text", 3, True, ["a"], {"a": "b"}, None, 1.5, [], {}))


def _renamed(chance: random.Random, fields: Fields) -> None:
    if places := [(owner, key) for owner, key in _places(fields) if isinstance(owner, dict)]:
        owner, key = chance.choice(places)
        owner[chance.choice((key + "s", key[:-1] or "x", key.upper(), key[:1] + key))] = owner.pop(
            key
        )


def _removed(chance: random.Random, fields: Fields) -> None:
    if places := _places(fields):
        owner, key = chance.choice(places)
        del owner[key]


def _texts(fields: Fields) -> list[tuple[Any, Any]]:
    texts = [(owner, key) for owner, key in _places(fields) if isinstance(owner[key], str)]
    return [*texts, (fields, "path")] if "path" in fields else texts


def _templated(chance: random.Random, fields: Fields) -> None:
    if texts := _texts(fields):
        owner, key = chance.choice(texts)
        owner[key] = chance.choice(("", "a-")) + chance.choice(TEMPLATES)


def _scratched(chance: random.Random, fields: Fields) -> None:
    """One sign of a template goes, comes twice, or becomes another."""
    if texts := [(owner, key) for owner, key in _texts(fields) if "{{" in owner[key]]:
        owner, key = chance.choice(texts)
        text = owner[key]
        at = chance.randrange(len(text))
        owner[key] = (
            text[:at] + chance.choice(("", text[at] * 2, "|", "(", " ", "x", "$")) + text[at + 1 :]
        )
