"""Checks what a template would do in Argo CD: whether it fails, and whether its result stays small.

Every action is run with what is known of the parameters. Both sides of a condition are.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from gitops_dsf.argocd.gotemplate import nodes
from gitops_dsf.argocd.gotemplate.nodes import TemplateError
from gitops_dsf.argocd.gotemplate.parse import NOT_PLAIN, PLAIN_ONES, SHARED, CostlyError, parse
from gitops_dsf.argocd.gotemplate.plain import FALLS_BACK, PLAIN, Read, Value, is_plain

Parameters = Mapping[str, Value | Mapping[str, Value]]

LONGEST: Final = 262_144
"""Characters of a text with actions."""
LARGEST: Final = 65_536
"""Characters that one action may write."""
MOST: Final = 1_048_576
"""Characters that all actions of a text may write together."""
_UNKNOWN: Final = Value("any", 1024)
_MAP: Final = Value("map", 4096)
_TAG: Final = re.compile(r"\{\{(?P<tag>.*?)\}\}", re.DOTALL)


class Trouble(Enum):
    """What is wrong with a template."""

    FAILS = auto()
    """Argo CD cannot parse or run it."""
    PARAMETER = auto()
    """It uses a parameter that is not there."""
    LACKING = auto()
    """It writes a text that is empty because a cluster lacks it."""
    COST = auto()
    """What it costs is not known, or is much."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    trouble: Trouble
    offset: int
    message: str
    hint: str = ""
    known: tuple[str, ...] = ()
    """The parameters that there are."""
    name: str = ""
    """The parameter that is not there."""
    lacks: Read | None = None
    """The text that is lacking."""


def check(text: str, parameters: Parameters | None, lacking: Collection[Read] = ()) -> tuple[Finding, ...]:
    """What is wrong with a text. Without `parameters` any may be there; `lacking` are empty texts."""
    if "{{" not in text:
        return ()
    if len(text) > LONGEST:
        message = (
            f"{len(text)} characters with actions in them, more than {LONGEST}: that is much for {SHARED}"
        )
        return (Finding(Trouble.COST, text.index("{{"), message, "move the text into the repository"),)
    try:
        statements = parse(text)
    except CostlyError as error:
        return (Finding(Trouble.COST, error.offset, error.message, error.hint),)
    except TemplateError as error:
        return (Finding(Trouble.FAILS, error.offset, error.message, error.hint),)
    run = _Run(parameters, lacking)
    run.statements(statements)
    if run.written > MOST and not run.found:
        message = f"the text may become {run.written} characters long: that is much for {SHARED}"
        run.found.append(Finding(Trouble.COST, text.index("{{"), message, "write less into one text"))
    return tuple(run.found)


def reads(text: str, parameters: Parameters) -> Mapping[Read, int]:
    """The texts that a template without findings reads from maps of texts, each with an offset."""
    run = _Run(parameters)
    run.statements(parse(text))
    return run.read


def unresolved(text: str, parameters: Parameters) -> Iterator[tuple[int, str]]:
    """The tags of a text without goTemplate that Argo CD leaves as they are, with their offsets."""
    names = {
        f"{name}.{inside}" if inside else name
        for name, value in parameters.items()
        for inside in (value if isinstance(value, Mapping) else ("",))
    }
    for found in _TAG.finditer(text):
        if (tag := found["tag"].strip()) not in names:
            yield found.start(), tag


class _StopError(Exception):
    """The action has a finding; what follows in it is not known."""


class _Run:
    """One run of a template. `sure` is false where Argo CD may not come along."""

    def __init__(self, parameters: Parameters | None, lacking: Collection[Read] = ()) -> None:
        self.found: list[Finding] = []
        self.read: dict[Read, int] = {}
        self.written = 0
        self._lacking = lacking
        self._parameters = parameters
        self._variables: dict[str, Value] = {}
        self._sure = True

    def statements(self, items: Sequence[nodes.Statement]) -> None:
        for item in items:
            try:
                self._statement(item)
            except _StopError:
                continue

    def _statement(self, item: nodes.Statement) -> None:
        match item:
            case nodes.Action(pipeline):
                value = self._pipeline(pipeline)
                if not pipeline.variables and value.kind == "map":
                    message = "this writes several parameters as Go prints a map"
                    hint = "name one of them, such as .name"
                    raise self._stop(Trouble.COST, pipeline.offset, message, hint)
                if not pipeline.variables:
                    self._is_there(value)
                    self.written += value.size
            case nodes.Branch(pipeline, body, otherwise):
                kept = dict(self._variables)
                condition = _UNKNOWN
                try:
                    condition = self._pipeline(pipeline)
                finally:
                    if condition.lacking is None:
                        self.statements(body)
                    if condition.constant is not True:
                        self.statements(otherwise)
                    self._variables = kept

    def _pipeline(self, pipeline: nodes.Pipeline) -> Value:
        if pipeline.assigns:
            message = (
                f"a variable that changes is more than a parameter: nobody can tell what it costs {SHARED}"
            )
            raise self._stop(Trouble.COST, pipeline.offset, message, "write := for a new variable")
        first, *others = pipeline.commands
        value = _UNKNOWN
        try:
            value = self._command(first, None)
            for command in others:
                value = self._command(command, value)
        except _StopError:
            self._variables |= dict.fromkeys(pipeline.variables, _UNKNOWN)
            raise
        for name in pipeline.variables:
            self._variables[name] = value
        return value

    def _command(self, command: tuple[nodes.Operand, ...], final: Value | None) -> Value:
        first, *rest = command
        if isinstance(first, nodes.Function):
            return self._call(first, rest, final)
        if rest or final is not None:
            message = "a value takes no arguments"
            raise self._stop(
                Trouble.FAILS, first.offset, message, "write a function before it, or remove one of the two"
            )
        return self._value(first)

    def _value(self, item: nodes.Operand) -> Value:
        match item:
            case nodes.Constant(offset, None, kind):
                raise self._costs(offset, "nil" if kind == "nil" else "a number that is not whole")
            case nodes.Constant(_, value, kind):
                return Value(kind, len(str(value)), value)
            case nodes.Field(offset, names):
                return self._parameter(offset, names)
            case nodes.Variable(offset, "$", names):
                return self._parameter(offset, names)
            case nodes.Variable(offset, name, names):
                if name not in self._variables:
                    raise self._stop(Trouble.FAILS, offset, f"{name} has no value yet")
                return self._inside(offset, self._variables[name], names)
            case nodes.Group(offset, pipeline, names):
                return self._inside(offset, self._pipeline(pipeline), names)
            case nodes.Function():
                return self._call(item, [], None)

    def _inside(self, offset: int, value: Value, names: tuple[str, ...]) -> Value:
        if names and value.kind == "text":
            raise self._stop(Trouble.FAILS, offset, f"a text has no field {names[0]}", f"remove .{names[0]}")
        if names and value.kind != "any":
            raise self._costs(offset, f"a field of a {value.kind}")
        return value

    def _parameter(self, offset: int, names: tuple[str, ...]) -> Value:
        if not names:
            return _MAP
        if self._parameters is None:
            return _UNKNOWN
        value, written = self._parameters.get(names[0]), f".{names[0]}"
        if isinstance(value, Value) and value.kind == "texts":
            return self._text(offset, names, value.size)
        known = tuple(f".{name}" for name in self._parameters)
        rest = names[1:]
        if isinstance(value, Mapping):
            if not rest:
                return _MAP
            known = tuple(f"{written}.{name}" for name in value)
            written, value, rest = f"{written}.{rest[0]}", value.get(rest[0]), rest[1:]
        if value is None:
            if not self._sure:
                return _UNKNOWN
            message = f"there is no parameter {written}"
            self.found.append(Finding(Trouble.PARAMETER, offset, message, "", known, written))
            raise _StopError
        return self._inside(offset, value, rest)

    def _text(self, offset: int, names: tuple[str, ...], size: int) -> Value:
        """A text in a map of texts by any name."""
        if len(names) == 1:
            return _MAP
        read = names[0], names[1]
        self.read.setdefault(read, offset)
        empty = (offset, read) if read in self._lacking else None
        return self._inside(offset, Value("text", size, None, empty), names[2:])

    def _is_there(self, value: Value) -> None:
        if value.lacking is not None:
            offset, read = value.lacking
            self.found.append(Finding(Trouble.LACKING, offset, f"{read[1]} is lacking", lacks=read))
            raise _StopError

    def _call(
        self, function: nodes.Function, operands: Sequence[nodes.Operand], final: Value | None
    ) -> Value:
        match function.name, operands:
            case "index", (
                nodes.Field(offset, names) | nodes.Variable(offset, "$", names),
                nodes.Constant(_, str(key), "text"),
            ) if final is None:
                return self._parameter(offset, (*names, key))
        given = []
        kept = self._sure
        for index, operand in enumerate(operands):
            self._sure = kept and not (function.name == "or" and index)
            given.append(self._value(operand))
        self._sure = kept
        if final is not None:
            given.append(final)
        if not is_plain(function.name, given):
            raise self._costs(function.offset, function.name)
        self._fits(function, operands, given)
        plain = PLAIN[function.name]
        if any(one.lacking for one in given):
            return self._of_lacking(function.name, given)
        size = plain.size(given)
        if size > LARGEST:
            message = f"{function.name} may give {size} characters here: that is much for {SHARED}"
            raise self._stop(Trouble.COST, function.offset, message, "write less")
        return Value(plain.gives or _common(function.name, given), size)

    def _of_lacking(self, name: str, given: Sequence[Value]) -> Value:
        """What a function gives of texts of which some are empty, because a cluster lacks them."""
        empty = next(one for one in given if one.lacking)
        there = [one for one in given if one.lacking is None]
        if name in FALLS_BACK:
            return Value(_common(name, there), max(one.size for one in there)) if there else empty
        if name == "and":
            return empty
        if PLAIN[name].gives != "bool":
            self._is_there(empty)
        return Value("bool", 5, name in {"empty", "not"} or None)

    def _fits(
        self, function: nodes.Function, operands: Sequence[nodes.Operand], given: Sequence[Value]
    ) -> None:
        """Whether a function takes these arguments."""
        name, plain = function.name, PLAIN[function.name]
        least = len(plain.takes) + plain.least
        if len(given) < least or (not plain.rest and len(given) > least):
            wanted = f"{'at least ' if plain.rest else ''}{least} argument{'s' * (least != 1)}"
            raise self._stop(
                Trouble.FAILS, function.offset, f"{name} takes {wanted}, and has {len(given)} here"
            )
        kinds = [*plain.takes, *[plain.rest] * (len(given) - len(plain.takes))]
        if name == "slugify" and given:
            kinds = [*["number", "bool", *["any"] * len(given)][: len(given) - 1], "text"]
        for index, (kind, value) in enumerate(zip(kinds, given, strict=True)):
            offset = operands[index].offset if index < len(operands) else function.offset
            if kind != "any" and value.kind not in {kind, "any"}:
                wanted = "a whole number" if kind == "number" else f"a {kind}"
                raise self._stop(Trouble.FAILS, offset, f"{name} takes {wanted} here")
        kinds = [one.kind for one in given if one.kind != "any"]
        if name in {"eq", "ne"} and (len(set(kinds)) > 1 or "map" in kinds):
            raise self._stop(Trouble.FAILS, function.offset, f"{name} compares values of different kinds")

    def _costs(self, offset: int, name: str) -> _StopError:
        return self._stop(Trouble.COST, offset, f"{name} {NOT_PLAIN}", PLAIN_ONES)

    def _stop(self, trouble: Trouble, offset: int, message: str, hint: str = "") -> _StopError:
        self.found.append(Finding(trouble, offset, message, hint))
        return _StopError()


def _common(name: str, given: Sequence[Value]) -> str:
    """The kind of the argument that a function gives."""
    kinds = {one.kind for one in (given[:2] if name == "ternary" else given)}
    return kinds.pop() if len(kinds) == 1 else "mixed"
