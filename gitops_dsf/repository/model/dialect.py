"""Spellings of the blog post and of the first enhancement text. `validate` reports them, and `gitops-dsf
migrate` rewrites them.

Sources: the introduction of the framework on Red Hat's blog (spec.name, source.endpoint, source.query.query,
scoring.params with arguments of the API) and the text of the OCM enhancement (sources, mask, full, none, Go's
field names, AddonPlacementScore).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.base import DSF_API, OLDER_DSF_API, Authored
from gitops_dsf.repository.model.field_model import field_names, model_at
from gitops_dsf.repository.model.kinds import KINDS
from gitops_dsf.repository.model.suggestion import did_you_mean


class Rewrite(Enum):
    """How migrate rewrites a spelling."""

    KEY = "the key is replaced by `text`"
    VALUE = "the value is replaced by `text`"
    HOIST = "the fields inside move one level up, and the key goes"
    REMOVE = "the field goes"
    SCORE_NAME = "the field goes, and its value becomes spec.scoring.params.name"
    BY_HAND = "somebody has to decide"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One older spelling, and what to write."""

    path: Path
    message: str
    hint: str
    rewrite: Rewrite
    text: str = ""
    replaces: tuple[Path, ...] = ()
    """Paths that the right spelling fills. If they are missing, that is no further mistake."""

    def position(self, document: Document) -> Position:
        """Where it is written: the value, if that is spelled differently, else the key."""
        if self.rewrite is Rewrite.VALUE:
            return document.at(self.path)
        return document.key_at(self.path)


_VALUES: Final[dict[Path, tuple[str, ...]]] = {
    ("spec", "configSyncMode"): ("Full", "None"),
    ("spec", "location"): ("Internal", "External"),
    ("spec", "scoreDestination"): ("AddOnPlacementScore", "None"),
    ("spec", "source", "type"): ("Prometheus", "Kubernetes", "OpenTelemetry", "None"),
}
"""Upstream's enumerations, which older texts write in lower case."""


def find_dialects(document: Document) -> list[Dialect]:
    """Returns every older spelling in a DynamicScorer or DynamicScoringConfig."""
    finders: dict[str, tuple[Callable[[dict[str, Any]], Iterator[Dialect]], ...]] = {
        "DynamicScorer": (_sources, _endpoints, _query, _arguments, _values, _score_name),
        "DynamicScoringConfig": (_mask,),
    }
    if document.kind not in finders:
        return []
    if document.api_version == OLDER_DSF_API:
        return [_older_version()]
    spec = document.data.get("spec")
    if not isinstance(spec, dict):
        return []
    model = KINDS.get((document.api_version, document.kind))
    found = [dialect for finder in finders[document.kind] for dialect in finder(spec)]
    if model is not None:
        taken = {dialect.path for dialect in found}
        found += [dialect for dialect in _letter_case(model, spec, ("spec",)) if dialect.path not in taken]
    return found


def _older_version() -> Dialect:
    """Checks the version first, because the other spellings depend on it."""
    message = "v1 is the version of an older text, with the fields of v1alpha1"
    return Dialect(
        path=("apiVersion",), message=message, hint=f"write {DSF_API}", rewrite=Rewrite.VALUE, text=DSF_API
    )


def _renamed(path: Path, new: str, *, message: str = "", fills: tuple[Path, ...] = ()) -> Dialect:
    old = path[-1]
    return Dialect(
        path=path,
        message=message or f"{old} is the spelling of an older text",
        hint=f"write {new}",
        rewrite=Rewrite.KEY,
        text=new,
        replaces=((*path[:-1], new), *fills),
    )


def _mask(spec: dict[str, Any]) -> Iterator[Dialect]:
    if isinstance(spec.get("mask"), list) and "masks" not in spec:
        yield _renamed(("spec", "mask"), "masks")


def _sources(spec: dict[str, Any]) -> Iterator[Dialect]:
    name = "sources" if "sources" in spec else "Sources"
    sources = spec.get(name)
    if isinstance(sources, dict) and "source" not in spec:
        yield _renamed(("spec", name), "source")
    elif isinstance(sources, list):
        yield Dialect(
            path=("spec", name),
            message="a list of sources is the spelling of an older text; a scorer has one source",
            hint="write one `source`, and join the queries with `;`",
            rewrite=Rewrite.BY_HAND,
            replaces=(("spec", "source"),),
        )


def _endpoints(spec: dict[str, Any]) -> Iterator[Dialect]:
    for section in ("source", "scoring"):
        inside = spec.get(section)
        endpoint = inside.get("endpoint") if isinstance(inside, dict) else None
        if not isinstance(inside, dict) or not isinstance(endpoint, dict) or not endpoint:
            continue
        path: Path = ("spec", section, "endpoint")
        clash = [name for name in endpoint if name in inside]
        yield Dialect(
            path=path,
            message=f"{section}.endpoint is the spelling of an older text",
            hint=f"write its fields ({', '.join(endpoint)}) directly below {section}",
            rewrite=Rewrite.BY_HAND if clash else Rewrite.HOIST,
            replaces=(("spec", section, "host"), ("spec", section, "path")),
        )


def _query(spec: dict[str, Any]) -> Iterator[Dialect]:
    source = spec.get("source")
    if isinstance(source, dict) and isinstance(source.get("query"), dict) and "params" not in source:
        message = "source.query with fields inside is the spelling of an older text"
        yield _renamed(("spec", "source", "query"), "params", message=message)


def _arguments(spec: dict[str, Any]) -> Iterator[Dialect]:
    """The blog post writes the arguments of the scoring API into `params`."""
    scoring = spec.get("scoring")
    params = scoring.get("params") if isinstance(scoring, dict) else None
    if not isinstance(scoring, dict) or not isinstance(params, dict) or not params or "arguments" in scoring:
        return
    ours = ("name", "interval")
    if any(name in ours or did_you_mean(str(name), ours) for name in params):
        return
    message = f"scoring.params holds {', '.join(params)}, which are arguments of the scoring API"
    yield _renamed(("spec", "scoring", "params"), "arguments", message=message)


def _values(spec: dict[str, Any]) -> Iterator[Dialect]:
    for path, allowed in _VALUES.items():
        value = value_at(spec, path[1:])
        if not isinstance(value, str) or value in allowed:
            continue
        right = next((word for word in allowed if word.lower() == value.lower()), None)
        if right is not None:
            message = f"{path[-1]}: {value} is the spelling of an older text"
            yield Dialect(
                path=path, message=message, hint=f"write {right}", rewrite=Rewrite.VALUE, text=right
            )


def _score_name(spec: dict[str, Any]) -> Iterator[Dialect]:
    name = spec.get("name")
    if not isinstance(name, str) or not name:
        return
    scoring = spec.get("scoring")
    params = scoring.get("params") if isinstance(scoring, dict) else None
    written = isinstance(params, dict) and "name" in params
    hint = "remove it: metadata.name names the scorer, scoring.params.name the score"
    if not written:
        hint = f"write it as the score's name, scoring.params.name: {name}"
    rewrite = (
        Rewrite.REMOVE
        if written
        else Rewrite.SCORE_NAME
        if isinstance(scoring, dict) and scoring
        else Rewrite.BY_HAND
    )
    yield Dialect(
        path=("spec", "name"),
        message="spec.name is the spelling of an older text",
        hint=hint,
        rewrite=rewrite,
        text=name,
        replaces=() if written else (("spec", "scoring", "params", "name"),),
    )


def _letter_case(model: type[Authored], data: Any, path: Path) -> Iterator[Dialect]:  # noqa: ANN401 - whatever YAML holds
    """Go's names of fields, such as ConfigSyncMode. Another letter that has the wrong case is a typing error,
    as in scorerange.
    """
    if isinstance(data, list):
        for index, item in enumerate(data):
            yield from _letter_case(model, item, (*path, index))
        return
    owner = model_at(model, path)
    if not isinstance(data, dict) or owner is None:
        return
    known = {alias.lower(): alias for alias in field_names(owner)}
    for name, value in data.items():
        right = known.get(name.lower())
        if right is not None and right != name and name[0].isupper() and right not in data:
            yield _renamed((*path, name), right)
        elif right == name:
            yield from _letter_case(model, value, (*path, name))


def explains(dialect: Dialect, path: Path) -> bool:
    """Whether the dialect already explains a mistake at this path."""
    return any(path[: len(place)] == place for place in (dialect.path, *dialect.replaces))
