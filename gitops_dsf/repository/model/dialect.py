"""Older spellings, from the blog post and from the first text of the enhancement.

`validate` reports them, and `validate --fix` rewrites them.

Sources: the introduction of the framework on Red Hat's blog (spec.name, source.endpoint,
source.query.query, scoring.params with arguments of the API) and the text of the OCM enhancement
(sources, mask, full, none, Go's field names, AddonPlacementScore).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.repository.model.field_model import field_names, model_at
from gitops_dsf.wording import did_you_mean

CHOSEN_INTERVAL_SECONDS: Final = 60
"""The interval that `validate --fix` writes where the blog post's scorer has none."""

_VALUES: Final[dict[FieldPath, tuple[str, ...]]] = {
    ("spec", "configSyncMode"): ("Full", "None"),
    ("spec", "location"): ("Internal", "External"),
    ("spec", "scoreDestination"): ("AddOnPlacementScore", "None"),
    ("spec", "source", "type"): ("Prometheus", "Kubernetes", "OpenTelemetry", "None"),
}
"""Upstream's enumerations, which older texts write in lower case."""


class Dialect(NamedTuple):
    """One older spelling, and what to write."""

    path: FieldPath
    message: str
    hint: str
    edits: tuple[Edit, ...] = ()
    """The edits of the hint; none if a person has to decide."""
    replaces: tuple[FieldPath, ...] = ()
    """Paths that the right spelling fills. If they are missing, that is not a further mistake."""
    severity: Severity = Severity.ERROR

    def finding(self, document: Document) -> Diagnostic:
        """The finding, at the value if that is spelled differently, else at the key."""
        is_value = any(edit.value is not None for edit in self.edits)
        position = document.at(self.path) if is_value else document.key_at(self.path)
        return codes.DIALECT.at(
            position, self.message, self.hint, severity=self.severity, edits=self.edits
        )


def find_dialects(document: Document) -> list[Dialect]:
    """Returns every older spelling in a DynamicScorer or DynamicScoringConfig."""
    finders: dict[str, tuple[Callable[[dict[str, Any]], Iterator[Dialect]], ...]] = {
        "DynamicScorer": (_sources, _endpoints, _query, _arguments, _values, _score_name, _absent),
        "DynamicScoringConfig": (_mask,),
    }
    spec = document.data.get("spec")
    if document.kind not in finders or not isinstance(spec, dict):
        return []
    dialects: list[Dialect] = []
    for finder in finders[document.kind]:
        dialects += finder(spec)
    explained = {dialect.path for dialect in dialects}
    model = KINDS[document.api_version, document.kind]
    for dialect in _letter_case(model, spec, ("spec",)):
        if dialect.path not in explained:
            dialects.append(dialect)
    return dialects


def explains(dialect: Dialect, path: FieldPath) -> bool:
    """Whether a mistake at a path is one of an older spelling, or comes of it."""
    # A mistake below such a path is one of the same spelling.
    for explained in (dialect.path, *dialect.replaces):
        if path[: len(explained)] == explained:
            return True
    return False


def _renamed(path: FieldPath, new: str, *, message: str = "") -> Dialect:
    """A field that has another name now."""
    message = message or f"{path[-1]} is the spelling of an older text"
    right = (*path[:-1], new)
    return Dialect(path, message, f"write {new}", edits=(Edit(path, to=right),), replaces=(right,))


def _mask(spec: dict[str, Any]) -> Iterator[Dialect]:
    if isinstance(spec.get("mask"), list) and "masks" not in spec:
        yield _renamed(("spec", "mask"), "masks")


def _sources(spec: dict[str, Any]) -> Iterator[Dialect]:
    name = "sources" if "sources" in spec else "Sources"
    sources = spec.get(name)
    if isinstance(sources, dict) and "source" not in spec:
        yield _renamed(("spec", name), "source")
    elif isinstance(sources, list):
        message = "a list of sources is the spelling of an older text; a scorer has one source"
        hint = "write one `source`, and join the queries with `;`"
        yield Dialect(("spec", name), message, hint, replaces=(("spec", "source"),))


def _endpoints(spec: dict[str, Any]) -> Iterator[Dialect]:
    for section in ("source", "scoring"):
        endpoint = value_at(spec, (section, "endpoint"))
        if not isinstance(endpoint, dict) or not endpoint:
            continue
        path: FieldPath = ("spec", section, "endpoint")
        moves = [Edit((*path, name), to=("spec", section, name)) for name in endpoint]
        # If both spellings are there, only the author knows which one is meant.
        clash = any(name in spec[section] for name in endpoint)
        message = f"{section}.endpoint is the spelling of an older text"
        hint = f"write its fields ({', '.join(endpoint)}) directly below {section}"
        fields = (("spec", section, "host"), ("spec", section, "path"))
        yield Dialect(path, message, hint, () if clash else (*moves, Edit(path)), fields)


def _query(spec: dict[str, Any]) -> Iterator[Dialect]:
    if isinstance(value_at(spec, ("source", "query")), dict) and "params" not in spec["source"]:
        message = "source.query with fields inside is the spelling of an older text"
        yield _renamed(("spec", "source", "query"), "params", message=message)


def _arguments(spec: dict[str, Any]) -> Iterator[Dialect]:
    """The blog post writes the arguments of the scoring API into `params`."""
    params = value_at(spec, ("scoring", "params"))
    if not isinstance(params, dict) or not params or "arguments" in spec["scoring"]:
        return
    ours = ("name", "interval")
    # A misspelt name of ours says that the section is ours, with a mistake in it.
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
            yield Dialect(path, message, f"write {right}", edits=(Edit(path, value=right),))


def _score_name(spec: dict[str, Any]) -> Iterator[Dialect]:
    name = spec.get("name")
    if not isinstance(name, str) or not name:
        return
    params = value_at(spec, ("scoring", "params"))
    message = "spec.name is the spelling of an older text"
    path: FieldPath = ("spec", "name")
    right: FieldPath = ("spec", "scoring", "params", "name")
    if isinstance(params, dict) and "name" in params:
        hint = "remove it: metadata.name names the scorer, scoring.params.name the score"
        yield Dialect(path, message, hint, edits=(Edit(path),))
    else:
        hint = f"write it as the score's name, scoring.params.name: {name}"
        yield Dialect(path, message, hint, edits=(Edit(path, to=right),), replaces=(right,))


def _absent(spec: dict[str, Any]) -> Iterator[Dialect]:
    """Required fields that the blog post's scorer lacks.

    What is in the file says what belongs there.
    """
    has_endpoint = value_at(spec, ("source", "endpoint")) or value_at(spec, ("scoring", "endpoint"))
    if "name" not in spec and not has_endpoint:
        return
    # In any case of letters: Go's names of fields are reported as such.
    present = {str(name).lower() for name, value in spec.items() if value is not None}
    host = value_at(spec, ("scoring", "endpoint", "host")) or value_at(spec, ("scoring", "host"))
    values = {
        "description": spec.get("name") or "scores from the metrics of the source",
        "configURL": f"{host.rstrip('/')}/config" if isinstance(host, str) and host else None,
        # With the interval below, the file says all that the scorer needs, and nothing waits for a
        # /config.
        "configSyncMode": "None",
    }
    for name, value in values.items():
        path: FieldPath = ("spec", name)
        if name.lower() not in present and isinstance(value, str):
            message = f"{name} is missing, as in an older text"
            yield Dialect(path, message, f"write {name}: {value}", (Edit(path, value=value),))
    has_interval = value_at(spec, ("scoring", "params", "interval"))
    if isinstance(spec.get("scoring"), dict) and not has_interval:
        interval: FieldPath = ("spec", "scoring", "params", "interval")
        yield Dialect(
            ("spec", "scoring"),
            "the scorer has no interval, as in an older text: nothing says how often it runs",
            f"write scoring.params.interval: {CHOSEN_INTERVAL_SECONDS}, or other seconds between"
            " two runs",
            edits=(Edit(interval, value=CHOSEN_INTERVAL_SECONDS),),
            severity=Severity.NOTICE,
        )


def _letter_case(
    model: type[Authored],
    data: Any,  # noqa: ANN401 - whatever YAML holds
    path: FieldPath,
) -> Iterator[Dialect]:
    """Go's names of fields, such as ConfigSyncMode.

    Any other wrong case, as in scorerange, is a typo.
    """
    if isinstance(data, list):
        for index, value in enumerate(data):
            yield from _letter_case(model, value, (*path, index))
        return
    owner = model_at(model, path)
    if not isinstance(data, dict) or owner is None:
        return
    names = {alias.lower(): alias for alias in field_names(owner)}
    for name, value in data.items():
        right = names.get(name.lower())
        if right is not None and right != name and name[0].isupper() and right not in data:
            yield _renamed((*path, name), right)
        elif right == name:
            yield from _letter_case(model, value, (*path, name))
