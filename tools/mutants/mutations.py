"""Small changes of a module that its tests should notice. Pure."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_METHODS: Final = {
    "startswith": "endswith",
    "endswith": "startswith",
    "removeprefix": "removesuffix",
    "removesuffix": "removeprefix",
    "partition": "rpartition",
    "rpartition": "partition",
}
_SKIPPED: Final = {"annotation", "returns", "decorator_list", "type_params"}
"""Fields of nodes that are not changed: types and decorators."""


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One change: `before` becomes `after` at a line of the module (1-based)."""

    line: int
    last_line: int
    before: str
    after: str
    holder: ast.AST
    field: str
    index: int | None
    node: ast.AST

    def apply(self) -> None:
        """Changes the tree in which the mutation was found, permanently."""
        if self.index is None:
            setattr(self.holder, self.field, self.node)
        else:
            getattr(self.holder, self.field)[self.index] = self.node

    def __str__(self) -> str:
        return f"line {self.line}: {self.before} -> {self.after}"


def mutations(tree: ast.Module) -> list[Mutation]:
    """Returns every change of a module in the order of its lines. The tree does not change until one is
    applied.
    """
    return [
        Mutation(
            line=node.lineno,
            last_line=node.end_lineno or node.lineno,
            before=_told(node),
            after=_told(other),
            holder=holder,
            field=field,
            index=index,
            node=ast.fix_missing_locations(ast.copy_location(other, node)),
        )
        for holder, field, index, node in _sites(tree)
        for other in _others(node)
    ]


Site = tuple[ast.AST, str, int | None, ast.expr | ast.stmt]


def _sites(holder: ast.AST) -> Iterator[Site]:
    for field, value in ast.iter_fields(holder):
        if field in _SKIPPED or (field == "keywords" and isinstance(holder, ast.ClassDef)):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_skipped(child):
                continue
            if isinstance(child, (ast.expr, ast.stmt)):
                yield holder, field, index, child
            yield from _sites(child)


def _is_skipped(node: ast.AST) -> bool:
    """Texts for people, docstrings, logs, and code that only type checkers read."""
    match node:
        case ast.JoinedStr() | ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "LOG")))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case _:
            return False


def _others(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    yield from _other_statements(node) if isinstance(node, ast.stmt) else _other_expressions(node)


def _other_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.If(test=test, body=body, orelse=orelse) if not isinstance(test, ast.Constant):
            for always in (True, False):
                yield ast.If(test=ast.Constant(always), body=body, orelse=orelse)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(value=ast.Constant(None))
        case ast.Raise() | ast.Delete() | ast.Continue() | ast.Expr(value=ast.Call() | ast.Await()):
            yield ast.Pass()
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield ast.Expr(value=ast.YieldFrom(value=ast.Tuple(elts=[], ctx=ast.Load())))
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in _ARITHMETIC:
            yield ast.AugAssign(target=target, op=_ARITHMETIC[type(op)](), value=value)
        case _:
            return


def _other_expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for index, op in enumerate(ops):
                other = [*ops[:index], _COMPARISONS[type(op)](), *ops[index + 1 :]]
                yield ast.Compare(left=left, ops=other, comparators=comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=values)
            for index in range(len(values)):
                rest = values[:index] + values[index + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op=op, values=rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if not (_is_text(left) or _is_text(right)):
            yield ast.BinOp(left=left, op=_ARITHMETIC[type(op)](), right=right)
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.Call():
            yield from _other_calls(node)
        case ast.Constant(value=value):
            yield from _other_values(value)
        case ast.Set() | ast.List() | ast.Dict():
            yield from _smaller(node)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _unfiltered(node)
        case _:
            return


def _other_calls(node: ast.Call) -> Iterator[ast.expr]:
    match node.func:
        case ast.Name(id=name) if name in _NAMES:
            func: ast.expr = ast.Name(id=_NAMES[name], ctx=ast.Load())
        case ast.Attribute(value=value, attr=name) if name in _METHODS:
            func = ast.Attribute(value=value, attr=_METHODS[name], ctx=ast.Load())
        case _:
            return
    yield ast.Call(func=func, args=node.args, keywords=node.keywords)


def _other_values(value: object) -> Iterator[ast.expr]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(value * 2 + 1)


def _smaller(node: ast.Set | ast.List | ast.Dict) -> Iterator[ast.expr]:
    """The collection without each of its elements."""
    if isinstance(node, ast.Dict):
        for index in range(len(node.keys)):
            keys, values = ([*part[:index], *part[index + 1 :]] for part in (node.keys, node.values))
            yield ast.Dict(keys=keys, values=values)
        return
    if isinstance(node, ast.List) and not isinstance(node.ctx, ast.Load):
        return
    for index in range(len(node.elts)):
        rest = node.elts[:index] + node.elts[index + 1 :]
        if isinstance(node, ast.List):
            yield ast.List(elts=rest, ctx=node.ctx)
        elif rest:
            yield ast.Set(elts=rest)


def _unfiltered(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> Iterator[ast.expr]:
    """The comprehension without each of its conditions."""
    for at, generator in enumerate(node.generators):
        for index in range(len(generator.ifs)):
            ifs = generator.ifs[:index] + generator.ifs[index + 1 :]
            wide = ast.comprehension(
                target=generator.target, iter=generator.iter, ifs=ifs, is_async=generator.is_async
            )
            generators = [*node.generators[:at], wide, *node.generators[at + 1 :]]
            match node:
                case ast.DictComp(key=key, value=value):
                    yield ast.DictComp(key=key, value=value, generators=generators)
                case ast.ListComp(elt=elt):
                    yield ast.ListComp(elt=elt, generators=generators)
                case ast.SetComp(elt=elt):
                    yield ast.SetComp(elt=elt, generators=generators)
                case ast.GeneratorExp(elt=elt):
                    yield ast.GeneratorExp(elt=elt, generators=generators)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def _told(node: ast.AST) -> str:
    """The node on one line. Of a compound statement its first line."""
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    return " ".join(ast.unparse(node).split())
