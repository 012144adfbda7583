"""Checks our own kinds: installed, established, and not older than this version."""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_dsf.schema import crds
from gitops_dsf.views.doctor.facts import Facts, Source, condition, name_of
from gitops_dsf.views.doctor.finding import Result, error, ok, warning
from gitops_dsf.wording import names_text

FOLDER = ".schemas"
Schema = Mapping[str, Any]


def definitions(facts: Facts) -> Iterator[Result]:
    """Does the hub serve our kinds with every field of this version?"""
    there = {name_of(item): item for item in facts.of(Source.CRDS)}
    apply = facts.command(
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=argocd-controller",
        "-f",
        f"{FOLDER}/crds",
    )
    fix = f"gitops-dsf schema --out {FOLDER} && {apply}"
    sound = True
    for expected in crds():
        name = name_of(expected)
        item = there.get(name)
        if item is None:
            sound = False
            yield error(f"{name} is not there", fix)
            continue
        established = condition(item, "Established")
        if established is None or established.get("status") != "True":
            sound = False
            names = condition(item, "NamesAccepted") or {}
            yield error(
                f"{name} is not established: {names.get('message') or 'the API server has not accepted it'}",
                fix,
            )
            continue
        for result in _compare(name, expected, item, fix):
            sound = False
            yield result
    if sound:
        yield ok("both kinds are there, with every field of this version")


def _compare(name: str, expected: Schema, item: Schema, fix: str) -> Iterator[Result]:
    ours, theirs = _fields(expected), _fields(item)
    missing, more = sorted(ours - theirs), sorted(theirs - ours)
    if missing:
        yield error(f"{name} is older than this version: the hub drops {names_text(missing)}", fix)
    elif more:
        yield warning(
            f"{name} is newer than this command: it knows {names_text(more)}",
            "pip install --upgrade 'gitops-dsf[live]'",
        )


def _fields(definition: Schema) -> frozenset[str]:
    """Paths of all properties of the served versions."""
    found: set[str] = set()
    for version in definition["spec"].get("versions") or ():
        if version.get("served", True):
            found.update(_paths((version.get("schema") or {}).get("openAPIV3Schema") or {}, ""))
    return frozenset(found)


def _paths(schema: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if not isinstance(schema, Mapping):
        return
    for key, value in (schema.get("properties") or {}).items():
        inner = f"{path}.{key}" if path else str(key)
        yield inner
        yield from _paths(value, inner)
    yield from _paths(schema.get("items"), f"{path}[]")
    yield from _paths(schema.get("additionalProperties"), f"{path}.*")
