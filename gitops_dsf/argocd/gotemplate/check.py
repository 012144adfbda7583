"""Checks what a template would do in Argo CD: whether it fails, and whether it stays small.

The ApplicationSet controller runs the templates of all teams in one process, so one template that
writes gigabytes stops every application of the hub.

Every action is run with what is known of the parameters. Both sides of a condition are, and the
body of a range once. A finding is certain: what is not known may be anything.

Sizes are estimates: a call gives about as much as its arguments have, and what its numbers ask for.
That finds what grows without bound. It does not find a variable that doubles inside of a range,
because the body of a range is run once.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from gitops_dsf.argocd.gotemplate import nodes, plain
from gitops_dsf.argocd.gotemplate.nodes import TemplateError
from gitops_dsf.argocd.gotemplate.parse import SHARED, CostlyError, UnreadError, parse
from gitops_dsf.argocd.gotemplate.plain import FALLS_BACK, KEEPS_EMPTY, SIGNATURES, Read, Value
from gitops_dsf.diagnostics import Mistake

Parameters = Mapping[str, Value | Mapping[str, Value]]

MAX_TEXT: Final = 262_144
"""Characters of a text with actions."""
MAX_RESULT: Final = 65_536
"""Characters that one call of a function may give."""
MAX_WRITTEN: Final = 1_048_576
"""Characters that all actions of a text may write together: etcd takes no more in an object."""
_UNKNOWN: Final = Value("any", 256)
_TAG: Final = re.compile(r"\{\{(?P<tag>.*?)\}\}", re.DOTALL)


class Trouble(Enum):
    """What is wrong with a template. Argo CD runs one that is UNSURE or DIFFERS."""

    FAILS = auto()
    """Argo CD cannot parse or run it."""
    PARAMETER = auto()
    """It uses a parameter that is not there."""
    LACKING = auto()
    """It writes a text that is empty because a cluster lacks it."""
    WHOLE = auto()
    """It uses labels or claims as a whole, and only those that are read by name are given to it."""
    COST = auto()
    """It costs much."""
    UNSURE = auto()
    """What it costs is not known."""
    DIFFERS = auto()
    """It gives something else each time."""


@dataclass(frozen=True, slots=True)
class TemplateMistake(Mistake):
    """A mistake in a template."""

    offset: int = 0
    trouble: Trouble = Trouble.FAILS
    known: tuple[str, ...] = ()
    """The parameters that exist, if `name` does not."""
    name: str = ""
    """The parameter that does not exist."""
    lacks: Read | None = None
    """The label or claim that a cluster lacks."""


def check(
    text: str, parameters: Parameters | None, lacking: Collection[Read] = ()
) -> tuple[TemplateMistake, ...]:
    """What is wrong with a text.

    Without `parameters` any may be there; `lacking` are empty texts.
    """
    if "{{" not in text:
        return ()
    if len(text) > MAX_TEXT:
        message = (
            f"{len(text)} characters with actions in them, more than {MAX_TEXT}: that is much for"
            f" {SHARED}"
        )
        return (
            TemplateMistake(
                message, "move the text into the repository", text.index("{{"), Trouble.COST
            ),
        )
    try:
        statements = parse(text)
    except UnreadError as error:
        # Where labels are rendered for templates, somebody must know which of them are read.
        texts = {name for name, value in (parameters or {}).items() if _is_texts(value)}
        trouble = Trouble.WHOLE if any(name in text for name in texts) else Trouble.UNSURE
        return (TemplateMistake(error.message, error.hint, error.offset, trouble),)
    except CostlyError as error:
        return (TemplateMistake(error.message, error.hint, error.offset, Trouble.COST),)
    except TemplateError as error:
        return (TemplateMistake(error.message, error.hint, error.offset, Trouble.FAILS),)
    run = _Run(parameters, lacking)
    run.statements(statements)
    if run.written > MAX_WRITTEN and not run.mistakes:
        message = (
            f"the text may become about {run.written} characters long: that is much for {SHARED}"
        )
        run.mistakes.append(
            TemplateMistake(message, "write less into one text", text.index("{{"), Trouble.COST)
        )
    return tuple(run.mistakes)


def _is_texts(value: Value | Mapping[str, Value]) -> bool:
    return isinstance(value, Value) and value.kind == "texts"


def reads(text: str, parameters: Parameters) -> Mapping[Read, int]:
    """The texts that a template reads from maps of texts, each with an offset.

    The template must be one that Argo CD can run.
    """
    run = _Run(parameters)
    try:
        run.statements(parse(text))
    except UnreadError:
        return {}
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


def _as_value(parameters: Parameters) -> Value:
    """The parameters as one value, which is `$`."""
    fields = {
        name: _as_value(value) if isinstance(value, Mapping) else value
        for name, value in parameters.items()
    }
    named = {
        name: Value("texts", value.size, name=name) if value.kind == "texts" else value
        for name, value in fields.items()
    }
    return Value("map", 4096, fields=named)


class _Run:
    """One run of a template. `sure` is false where Argo CD may not come along."""

    def __init__(self, parameters: Parameters | None, lacking: Collection[Read] = ()) -> None:
        self.mistakes: list[TemplateMistake] = []
        self.read: dict[Read, int] = {}
        self.written = 0
        self._lacking = lacking
        self._root = _UNKNOWN if parameters is None else _as_value(parameters)
        self._dot = self._root
        self._variables: dict[str, Value] = {}
        self._times = 1
        """How often Argo CD runs the actions here, as far as the numbers in the template say."""
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
                if not pipeline.variables:
                    self._whole(pipeline.offset, value)
                    self._is_there(value)
                    self.written += value.size * self._times
            case nodes.Branch():
                self._branch(item)

    def _branch(self, item: nodes.Branch) -> None:
        kept, dot, times = dict(self._variables), self._dot, self._times
        value = _UNKNOWN
        try:
            value = self._pipeline(item.pipeline, is_range=item.kind == "range")
            self._whole(item.pipeline.offset, value)
            if item.kind == "range" and value.kind in {"text", "bool"}:
                raise self._stop(
                    Trouble.FAILS, item.pipeline.offset, f"range cannot go through a {value.kind}"
                )
        finally:
            if item.kind == "range":
                number = value.constant if value.kind in {"list", "number"} else None
                self._times *= number if isinstance(number, int) else 1
                self.written += item.length * self._times
            if item.kind != "if":
                self._dot = value if item.kind == "with" else _UNKNOWN
            if value.lacking is None:
                self.statements(item.body)
            self._dot, self._times = dot, times
            if value.constant is not True:
                self.statements(item.otherwise)
            changed = {
                name: self._variables[name] for name in kept if self._variables[name] != kept[name]
            }
            self._variables = kept | {
                name: Value("any", max(value.size, kept[name].size))
                for name, value in changed.items()
            }

    def _pipeline(self, pipeline: nodes.Pipeline, *, is_range: bool = False) -> Value:
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
            self._variables[name] = _UNKNOWN if is_range else value
        return value

    def _command(self, command: tuple[nodes.Operand, ...], final: Value | None) -> Value:
        first, *rest = command
        if isinstance(first, nodes.Function):
            return self._call(first, rest, final)
        if isinstance(first, nodes.Constant) and first.kind == "nil":
            raise self._stop(
                Trouble.FAILS, first.offset, "nil is not a value", 'write "" for an empty text'
            )
        value = self._value(first)
        if rest or final is not None:
            message = "a value takes no arguments"
            raise self._stop(
                Trouble.FAILS,
                first.offset,
                message,
                "write a function before it, or remove one of the two",
            )
        return value

    def _value(self, item: nodes.Operand) -> Value:
        match item:
            case nodes.Constant(_, _, "nil"):
                return Value("any")
            case nodes.Constant(_, value, kind):
                return Value(kind, len(str(value)), value)
            case nodes.Field(offset, names):
                return self._inside(offset, self._dot, names)
            case nodes.Variable(offset, "$", names):
                return self._inside(offset, self._root, names)
            case nodes.Variable(offset, name, names):
                if name not in self._variables:
                    raise self._stop(Trouble.FAILS, offset, f"{name} has no value yet")
                return self._inside(offset, self._variables[name], names)
            case nodes.Group(offset, pipeline, names):
                return self._inside(offset, self._pipeline(pipeline), names)
            case nodes.Function():
                return self._call(item, [], None)

    def _inside(self, offset: int, value: Value, names: Sequence[str]) -> Value:
        """The value of a field of a field of a value."""
        written = ""
        for name in names:
            if value.kind in {"bool", "list", "number", "text"}:
                message = f"a {value.kind} has no field {name}"
                raise self._stop(Trouble.FAILS, offset, message, f"remove .{name}")
            if value.kind == "texts":
                read = value.name, name
                self.read.setdefault(read, offset)
                empty = (offset, read) if read in self._lacking else None
                value = Value("text", value.size, None, empty)
            elif value.fields is None or (name not in value.fields and not self._sure):
                return _UNKNOWN
            elif name not in value.fields:
                missing, known = (
                    f"{written}.{name}",
                    tuple(f"{written}.{known}" for known in value.fields),
                )
                message = f"there is no parameter {missing}"
                self.mistakes.append(
                    TemplateMistake(message, "", offset, Trouble.PARAMETER, known, missing)
                )
                raise _StopError
            else:
                value = value.fields[name]
            written = f"{written}.{name}"
        return value

    def _whole(self, offset: int, value: Value) -> None:
        """Reports labels and claims that are used otherwise than by the name of one."""
        inside = (value, *(value.fields or {}).values())
        texts = next((part for part in inside if part.kind == "texts"), None)
        if texts is not None:
            message = f".{texts.name} has only what templates read by name, and this uses all of it"
            hint = f'write .{texts.name}.NAME, or index .{texts.name} "NAME"'
            raise self._stop(Trouble.WHOLE, offset, message, hint)

    def _is_there(self, value: Value) -> None:
        if value.lacking is not None:
            offset, read = value.lacking
            self.mistakes.append(
                TemplateMistake(f"{read[1]} is lacking", "", offset, Trouble.LACKING, lacks=read)
            )
            raise _StopError

    def _call(
        self, function: nodes.Function, operands: Sequence[nodes.Operand], final: Value | None
    ) -> Value:
        name, arguments = function.name, list[Value]()
        kept = self._sure
        for index, operand in enumerate(operands):
            self._sure = kept and not (name == "or" and index)
            arguments.append(self._value(operand))
        self._sure = kept
        if final is not None:
            arguments.append(final)
        if name == "index" and arguments:
            return self._indexed(function, operands, arguments)
        for index, value in enumerate(arguments):
            self._whole(operands[index].offset if index < len(operands) else function.offset, value)
        self._fits(function, operands, arguments)
        if any(argument.lacking for argument in arguments):
            return self._of_lacking(name, arguments)
        return self._result(function, arguments)

    def _indexed(
        self,
        function: nodes.Function,
        operands: Sequence[nodes.Operand],
        arguments: Sequence[Value],
    ) -> Value:
        """What `index` gives: a field by its name, as far as both are known."""
        value, *keys = arguments
        for key in keys:
            if value.kind not in {"map", "texts"} or (value.kind == "map" and value.fields is None):
                return _UNKNOWN
            if not isinstance(key.constant, str):
                self._whole(function.offset, value)
                return _UNKNOWN
            value = self._inside(operands[0].offset, value, (key.constant,))
        return value

    def _result(self, function: nodes.Function, arguments: Sequence[Value]) -> Value:
        """What a function gives that takes these arguments, and what that costs."""
        name, offset = function.name, function.offset
        if name in plain.MAKES_KEYS:
            # Argo CD fills in the template again at every look at the decision.
            raise self._stop(
                Trouble.COST,
                offset,
                f"{name} computes for long at every look: that is much for {SHARED}",
                "keep keys and passwords in Secrets",
            )
        if name in plain.DIFFERS:
            message = (
                f"{name} gives something else at every look, and Argo CD updates the Application"
                " each time"
            )
            self.mistakes.append(
                TemplateMistake(message, "write a fixed text", offset, Trouble.DIFFERS)
            )
        if name == "tpl" and arguments and isinstance(arguments[0].constant, str):
            for finding in check(arguments[0].constant, None)[:1]:
                raise self._stop(finding.trouble, offset, finding.message, finding.hint)
        numbers = plain.numbers(name, arguments)
        if None in numbers:
            message = (
                f"how much {name} gives here depends on parameters: it may be much for {SHARED}"
            )
            self.mistakes.append(
                TemplateMistake(
                    message, "write the number into the template", offset, Trouble.UNSURE
                )
            )
        number = sum(one or 0 for one in numbers)
        size = plain.size(name, arguments, number)
        if size > MAX_RESULT:
            message = f"{name} may give about {size} characters here: that is much for {SHARED}"
            raise self._stop(Trouble.COST, offset, message, "write less")
        signature = SIGNATURES.get(name)
        if signature is None:
            return Value("any", size)
        kind = signature.gives or _common(name, arguments)
        return Value(kind, size, number if kind == "list" else None)

    def _of_lacking(self, name: str, arguments: Sequence[Value]) -> Value:
        """What a function gives of texts of which some are empty, because a cluster lacks them."""
        empty = next(argument for argument in arguments if argument.lacking)
        there = [argument for argument in arguments if argument.lacking is None]
        if name in FALLS_BACK and not there:
            return empty
        if name in FALLS_BACK:
            return Value(_common(name, there), max(argument.size for argument in there))
        if name == "and" or name in KEEPS_EMPTY:
            return empty
        if name not in SIGNATURES or SIGNATURES[name].gives != "bool":
            self._is_there(empty)
        return Value("bool", 5, name in {"empty", "not"} or None)

    def _fits(
        self,
        function: nodes.Function,
        operands: Sequence[nodes.Operand],
        arguments: Sequence[Value],
    ) -> None:
        """Whether a function takes these arguments."""
        name = function.name
        if (signature := SIGNATURES.get(name)) is None:
            return
        least = len(signature.takes) + signature.least
        if len(arguments) < least or (not signature.rest and len(arguments) > least):
            wanted = f"{'at least ' if signature.rest else ''}{least} argument{'s' * (least != 1)}"
            raise self._stop(
                Trouble.FAILS,
                function.offset,
                f"{name} takes {wanted}, and has {len(arguments)} here",
            )
        kinds = [*signature.takes, *[signature.rest] * (len(arguments) - len(signature.takes))]
        if name == "slugify" and arguments:
            kinds = [*["number", "bool", *["any"] * len(arguments)][: len(arguments) - 1], "text"]
        for index, (kind, value) in enumerate(zip(kinds, arguments, strict=True)):
            offset = operands[index].offset if index < len(operands) else function.offset
            if kind != "any" and value.kind not in {kind, "any"}:
                wanted = "a whole number" if kind == "number" else f"a {kind}"
                raise self._stop(Trouble.FAILS, offset, f"{name} takes {wanted} here")
        known = {argument.kind for argument in arguments if argument.kind != "any"}
        if name in {"eq", "ne"} and (len(known) > 1 or known & {"list", "map"}):
            raise self._stop(
                Trouble.FAILS, function.offset, f"{name} compares values of different kinds"
            )

    def _stop(self, trouble: Trouble, offset: int, message: str, hint: str = "") -> _StopError:
        self.mistakes.append(TemplateMistake(message, hint, offset, trouble))
        return _StopError()


def _common(name: str, arguments: Sequence[Value]) -> str:
    """The kind of the argument that a function gives; "any" if they differ."""
    results = arguments[:2] if name == "ternary" else arguments
    kinds = {argument.kind for argument in results}
    return kinds.pop() if len(kinds) == 1 else "any"
