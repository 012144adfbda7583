"""Runs a parsed template with the known facts about its parameters.

Both sides of a condition are run, and the body of a range once. Guaranteed: a mistake is certain,
because an unknown value may be anything. Not guaranteed: that all mistakes are found at once. Each
action has one at most, because the rest of it is unknown then.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gitops_dsf.argocd.gotemplate import nodes
from gitops_dsf.argocd.gotemplate.cost import MAX_CHARACTERS, count_of, size_of
from gitops_dsf.argocd.gotemplate.functions import (
    DIFFERS,
    FALLS_BACK,
    KEEPS_EMPTY,
    MAKES_KEYS,
    SIGNATURES,
    Signature,
    common_kind,
)
from gitops_dsf.argocd.gotemplate.mistakes import (
    SHARED,
    TemplateError,
    TemplateMistake,
    Trouble,
)
from gitops_dsf.argocd.gotemplate.parse import parse
from gitops_dsf.argocd.gotemplate.values import Parameters, TextRead, Value
from gitops_dsf.wording import plural

_UNKNOWN: Final = Value("any", 256)
_ROOT_CHARACTERS: Final = 4096
"""About how many all parameters have together."""


class Run:
    """One run of a template."""

    def __init__(self, parameters: Parameters | None, lacking: Collection[TextRead] = ()) -> None:
        """Without `parameters`, every parameter may exist; those in `lacking` are empty texts."""
        self.mistakes: list[TemplateMistake] = []
        self.read: dict[TextRead, int] = {}
        """Texts that it reads from maps of texts, with the first offset of each."""
        self._written = 0
        """About how many characters it writes."""
        self._lacking = lacking
        self._root = _UNKNOWN if parameters is None else _as_value(parameters)
        self._dot = self._root
        self._variables: dict[str, Value] = {}
        self._times = 1
        """The number of times that Argo CD runs the actions here, as far as the numbers in the
        template show.
        """
        self._is_surely_run = True
        """Whether Argo CD certainly evaluates the part that is evaluated here."""

    def text(self, text: str) -> None:
        """Runs a whole text, and adds to the mistakes."""
        try:
            statements = parse(text)
        except TemplateError as error:
            self.mistakes.append(self._unread(text, error.mistake))
            return
        self._statements(statements)
        if self._written > MAX_CHARACTERS and not self.mistakes:
            self.mistakes.append(
                TemplateMistake(
                    f"the text may become about {self._written} characters long: that is much for"
                    f" {SHARED}",
                    "write less into one text",
                    text.index("{{"),
                    Trouble.COST,
                )
            )

    def _unread(self, text: str, mistake: TemplateMistake) -> TemplateMistake:
        """The mistake of a text that is not parsed: WHOLE if the text may read labels or claims.

        Only labels and claims that a template reads by name are rendered, so names must be known.
        """
        if mistake.trouble is Trouble.UNSURE:
            for name, field in (self._root.fields or {}).items():
                if field.kind == "texts" and name in text:
                    return replace(mistake, trouble=Trouble.WHOLE)
        return mistake

    def _statements(self, statements: Sequence[nodes.Statement]) -> None:
        for statement in statements:
            try:
                if isinstance(statement, nodes.BranchNode):
                    self._branch(statement)
                else:
                    self._action(statement)
            except TemplateError as error:
                self.mistakes.append(error.mistake)

    def _action(self, action: nodes.ActionNode) -> None:
        pipeline = action.pipeline
        value = self._pipeline(pipeline)
        # A declaration, such as {{ $x := .name }}, writes nothing.
        if not pipeline.variables:
            self._refuse_whole(pipeline.offset, value)
            _refuse_lacking(value)
            self._written += value.size * self._times

    def _branch(self, branch: nodes.BranchNode) -> None:
        variables = dict(self._variables)
        dot = self._dot
        times = self._times
        value = _UNKNOWN
        try:
            value = self._pipeline(branch.pipeline, is_range=branch.kind == "range")
            self._refuse_whole(branch.pipeline.offset, value)
            if branch.kind == "range" and value.kind in {"text", "bool"}:
                raise TemplateError(
                    f"range cannot go through a {value.kind}", branch.pipeline.offset
                )
        finally:
            # A mistake in the condition says nothing about the bodies, which are run all the same.
            if branch.kind == "range":
                self._times *= _length(value)
                self._written += branch.length * self._times
            if branch.kind != "if":
                self._dot = value if branch.kind == "with" else _UNKNOWN
            # An empty text is false: only what stands behind else is run.
            if value.lacking is None:
                self._statements(branch.body)
            self._dot = dot
            self._times = times
            if value.constant is not True:
                self._statements(branch.otherwise)
            # It is unknown which of the two sides was run.
            self._variables = _after_branch(variables, self._variables)

    def _pipeline(self, pipeline: nodes.PipeNode, *, is_range: bool = False) -> Value:
        first, *others = pipeline.commands
        try:
            value = self._command(first, None)
            for command in others:
                value = self._command(command, value)
        except TemplateError:
            # The variable is declared all the same: its later uses are not mistakes of their own.
            self._variables |= dict.fromkeys(pipeline.variables, _UNKNOWN)
            raise
        # In a range the variables hold a key and an element, and not the value that is ranged over.
        for name in pipeline.variables:
            self._variables[name] = _UNKNOWN if is_range else value
        return value

    def _command(self, command: tuple[nodes.Operand, ...], final: Value | None) -> Value:
        """The result of a command. `final` is its last argument, from the command before |."""
        first, *rest = command
        if isinstance(first, nodes.FunctionNode):
            return self._call(first, rest, final)
        if isinstance(first, nodes.ConstantNode) and first.kind == "nil":
            raise TemplateError("nil is not a value", first.offset, 'write "" for an empty text')
        value = self._value(first)
        if rest or final is not None:
            raise TemplateError(
                "a value takes no arguments",
                first.offset,
                "write a function before it, or remove one of the two",
            )
        return value

    def _value(self, operand: nodes.Operand) -> Value:
        match operand:
            case nodes.ConstantNode(_, _, "nil"):
                return Value("any")
            case nodes.ConstantNode(_, value, kind):
                return Value(kind, len(str(value)), value)
            case nodes.FieldNode(offset, names):
                return self._field(offset, self._dot, names)
            case nodes.VariableNode(offset, "$", names):
                return self._field(offset, self._root, names)
            case nodes.VariableNode(offset, name, names):
                if name not in self._variables:
                    raise TemplateError(f"{name} has no value yet", offset)
                return self._field(offset, self._variables[name], names)
            case nodes.ChainNode(offset, pipeline, names):
                return self._field(offset, self._pipeline(pipeline), names)
            case nodes.FunctionNode():
                return self._call(operand, [], None)

    def _field(self, offset: int, value: Value, names: Sequence[str]) -> Value:
        """The value of a field of a field of a value."""
        path = ""
        for name in names:
            if value.kind in {"bool", "list", "number", "text"}:
                raise TemplateError(
                    f"a {value.kind} has no field {name}", offset, f"remove .{name}"
                )
            if value.kind == "texts":
                value = self._text_of_cluster(offset, value, name)
            # A part that is not run does not fail: {{ or .reason .absent }} works while there is a
            # reason.
            elif value.fields is None or (name not in value.fields and not self._is_surely_run):
                return _UNKNOWN
            elif name not in value.fields:
                raise _no_parameter(offset, path, name, value.fields)
            else:
                value = value.fields[name]
            path += f".{name}"
        return value

    def _text_of_cluster(self, offset: int, texts: Value, name: str) -> Value:
        """A label or claim, which is noted as read."""
        read = (texts.name, name)
        self.read.setdefault(read, offset)
        lacking = (offset, read) if read in self._lacking else None
        return Value("text", texts.size, lacking=lacking)

    def _refuse_whole(self, offset: int, value: Value) -> None:
        """Refuses labels and claims that are used otherwise than by the name of one."""
        for part in (value, *(value.fields or {}).values()):
            if part.kind == "texts":
                raise TemplateError(
                    f".{part.name} holds only what templates read by name; this reads the whole",
                    offset,
                    f'write .{part.name}.NAME, or index .{part.name} "NAME"',
                    trouble=Trouble.WHOLE,
                )

    def _call(
        self, function: nodes.FunctionNode, operands: Sequence[nodes.Operand], final: Value | None
    ) -> Value:
        name = function.name
        arguments = self._arguments(name, operands)
        if final is not None:
            arguments.append(final)
        # A name that is not an identifier, such as that of most labels, is read by `index`.
        if name == "index" and arguments:
            return self._indexed(function, operands, arguments)
        offsets = _offsets(function, operands, arguments)
        for offset, argument in zip(offsets, arguments, strict=True):
            self._refuse_whole(offset, argument)
        signature = SIGNATURES.get(name)
        if signature is not None:
            _refuse_arguments(function, signature, arguments, offsets)
        if any(argument.lacking for argument in arguments):
            return _result_of_lacking(name, arguments)
        return self._result(function, arguments)

    def _arguments(self, name: str, operands: Sequence[nodes.Operand]) -> list[Value]:
        """The values of the operands of a function."""
        arguments: list[Value] = []
        was_surely_run = self._is_surely_run
        try:
            for index, operand in enumerate(operands):
                # Go evaluates `or` up to the first value that is not empty (since Go 1.18).
                self._is_surely_run = was_surely_run and not (name == "or" and index)
                arguments.append(self._value(operand))
        finally:
            self._is_surely_run = was_surely_run
        return arguments

    def _indexed(
        self,
        function: nodes.FunctionNode,
        operands: Sequence[nodes.Operand],
        arguments: Sequence[Value],
    ) -> Value:
        """The result of `index`: a field by its name, as far as both are known."""
        value, *keys = arguments
        for key in keys:
            if value.kind not in {"map", "texts"} or (value.kind == "map" and value.fields is None):
                return _UNKNOWN
            if not isinstance(key.constant, str):
                self._refuse_whole(function.offset, value)
                return _UNKNOWN
            value = self._field(operands[0].offset, value, (key.constant,))
        return value

    def _result(self, function: nodes.FunctionNode, arguments: Sequence[Value]) -> Value:
        """The result of a function that takes these arguments."""
        name = function.name
        if name in MAKES_KEYS:
            # Argo CD fills in the template again at each reconciliation.
            raise TemplateError(
                f"{name} takes long, and Argo CD runs it at each reconciliation: it may be too much"
                f" for {SHARED}",
                function.offset,
                "keep keys and passwords in Secrets",
                trouble=Trouble.COST,
            )
        if name in DIFFERS:
            self.mistakes.append(
                TemplateMistake(
                    f"{name} gives another result at each reconciliation, so Argo CD updates the"
                    " Application each time",
                    "write a fixed text",
                    function.offset,
                    Trouble.DIFFERS,
                )
            )
        if name == "tpl" and arguments:
            _refuse_inner_template(function, arguments[0])
        count = count_of(name, arguments)
        if count is None:
            self.mistakes.append(
                TemplateMistake(
                    f"the length of what {name} gives here depends on parameters: it may be too"
                    f" much for {SHARED}",
                    "write the number into the template",
                    function.offset,
                    Trouble.UNSURE,
                )
            )
        size = size_of(name, arguments, count or 0)
        if size * self._times > MAX_CHARACTERS:
            raise TemplateError(
                f"{name} may give about {size * self._times} characters here, which is too much for"
                f" {SHARED}",
                function.offset,
                "write less",
                trouble=Trouble.COST,
            )
        signature = SIGNATURES.get(name)
        if signature is None:
            return Value("any", size)
        kind = signature.gives or common_kind(name, _kinds(arguments))
        # A range over the list takes this number of rounds.
        return Value(kind, size, count if kind == "list" else None)


def _as_value(parameters: Parameters) -> Value:
    """The parameters as one value, which is `$`."""
    fields: dict[str, Value] = {}
    for name, parameter in parameters.items():
        if isinstance(parameter, Mapping):
            fields[name] = _as_value(parameter)
        elif parameter.kind == "texts":
            fields[name] = Value("texts", parameter.size, name=name)
        else:
            fields[name] = parameter
    return Value("map", _ROOT_CHARACTERS, fields=fields)


def _length(value: Value) -> int:
    """The number of rounds of a range over a value; 1 if the template does not show it."""
    if value.kind in {"list", "number"} and isinstance(value.constant, int):
        return value.constant
    return 1


def _after_branch(before: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, Value]:
    """The variables behind a branch that may have been run, or not."""
    # Variables that the branch declared end with it, so only those from before it count.
    variables = dict(before)
    for name, value in before.items():
        changed = after[name]
        if changed != value:
            variables[name] = Value("any", max(changed.size, value.size))
    return variables


def _no_parameter(offset: int, path: str, name: str, fields: Mapping[str, Value]) -> TemplateError:
    return TemplateError(
        f"there is no parameter {path}.{name}",
        offset,
        trouble=Trouble.PARAMETER,
        known=tuple(f"{path}.{field}" for field in fields),
        name=f"{path}.{name}",
    )


def _refuse_lacking(value: Value) -> None:
    """Refuses to write an empty text that stands for a label or claim that a cluster lacks."""
    if value.lacking is not None:
        offset, read = value.lacking
        raise TemplateError(f"{read[1]} is lacking", offset, trouble=Trouble.LACKING, lacks=read)


def _result_of_lacking(name: str, arguments: Sequence[Value]) -> Value:
    """The result of a function for texts of which some are empty, because a cluster lacks them."""
    empty = next(argument for argument in arguments if argument.lacking)
    others = [argument for argument in arguments if argument.lacking is None]
    if name in FALLS_BACK:
        if not others:
            return empty
        size = max(argument.size for argument in others)
        return Value(common_kind(name, _kinds(others)), size)
    if name == "and" or name in KEEPS_EMPTY:
        return empty
    if name not in SIGNATURES or SIGNATURES[name].gives != "bool":
        _refuse_lacking(empty)
    # `empty` and `not` are true of it. Of other functions the result is not known.
    return Value("bool", 5, name in {"empty", "not"} or None)


def _refuse_inner_template(function: nodes.FunctionNode, argument: Value) -> None:
    """Refuses `tpl` of a template that Argo CD cannot run, or that costs much."""
    if not isinstance(argument.constant, str):
        return
    # Its parameters are the second argument of tpl, which may be any value, so any may be there.
    run = Run(None)
    run.text(argument.constant)
    if run.mistakes:
        first = run.mistakes[0]
        raise TemplateError(first.message, function.offset, first.hint, trouble=first.trouble)


def _refuse_arguments(
    function: nodes.FunctionNode,
    signature: Signature,
    arguments: Sequence[Value],
    offsets: Sequence[int],
) -> None:
    """Refuses arguments that a function does not take."""
    name = function.name
    min_count = len(signature.takes) + signature.min_rest
    if signature.rest and len(arguments) < min_count:
        raise TemplateError(
            f"{name} takes at least {plural(min_count, 'argument')}, and has {len(arguments)} here",
            function.offset,
        )
    if not signature.rest and len(arguments) != min_count:
        raise TemplateError(
            f"{name} takes {plural(min_count, 'argument')}, and has {len(arguments)} here",
            function.offset,
        )
    wanted_kinds = _wanted_kinds(name, signature, len(arguments))
    for offset, wanted, argument in zip(offsets, wanted_kinds, arguments, strict=True):
        if wanted == "any" or argument.kind in {wanted, "any"}:
            continue
        if wanted == "number":
            raise TemplateError(f"{name} takes a whole number here", offset)
        raise TemplateError(f"{name} takes a {wanted} here", offset)
    # Go's eq and ne fail for kinds that differ, and for lists and maps.
    kinds = set(_kinds(arguments)) - {"any"}
    if name in {"eq", "ne"} and (len(kinds) > 1 or kinds & {"list", "map"}):
        raise TemplateError(f"{name} compares values of different kinds", function.offset)


def _wanted_kinds(name: str, signature: Signature, count: int) -> list[str]:
    """The kind that each argument must have, up to a number of arguments."""
    if name == "slugify" and count:
        kinds = ["number", "bool", *["any"] * count]
        return [*kinds[: count - 1], "text"]
    return [*signature.takes, *[signature.rest] * (count - len(signature.takes))]


def _kinds(arguments: Sequence[Value]) -> tuple[str, ...]:
    return tuple(argument.kind for argument in arguments)


def _offsets(
    function: nodes.FunctionNode, operands: Sequence[nodes.Operand], arguments: Sequence[Value]
) -> list[int]:
    """The offset of each argument. The one from before | has that of the function."""
    offsets = [operand.offset for operand in operands]
    return offsets + [function.offset] * (len(arguments) - len(operands))
