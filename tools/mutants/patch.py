"""Changes a loaded module into its mutant, so that a process that has collected the tests need not import
anything again.
"""

import ast
import gc
import sys
import types
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, cast

from tools.mutants.mutations import Mutation

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class NotPatchableError(Exception):
    """The change takes effect only if the module is imported with it."""


class Live:
    """The functions that exist in this process, by file, without those that gc.freeze hides."""

    def __init__(self, files: frozenset[str]) -> None:
        self._functions: dict[str, list[types.FunctionType]] = defaultdict(list)
        self._modules: dict[str, types.ModuleType] = {}
        for module in list(sys.modules.values()):
            if (file := getattr(module, "__file__", None)) in files:
                self._modules[str(file)] = module
        for found in gc.get_objects():
            if type(found) is types.FunctionType and found.__code__.co_filename in files:
                self._functions[found.__code__.co_filename].append(found)

    def apply(self, mutation: Mutation, tree: ast.Module, file: str) -> None:
        """Applies a mutation to the tree and to this process, permanently."""
        place = enclosing(tree, mutation.holder, mutation.field)
        mutation.apply()
        match place:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._swap(tree, file)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._rebind(name, value, file)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._rebind(name, value, file)
            case _:
                raise NotPatchableError

    def _swap(self, tree: ast.Module, file: str) -> None:
        """Gives every function of the file its changed code."""
        codes: dict[tuple[str, int], types.CodeType | None] = {}
        for code in _codes(compile(tree, file, "exec", dont_inherit=True)):
            key = code.co_qualname, code.co_firstlineno
            codes[key] = None if key in codes else code
        changed = False
        for function in self._functions[file]:
            old = function.__code__
            new = codes.get((old.co_qualname, old.co_firstlineno))
            if new is not None and new != old:
                try:
                    function.__code__ = new
                except ValueError as error:  # another number of free variables
                    raise NotPatchableError from error
                changed = True
        if not changed:
            raise NotPatchableError

    def _rebind(self, name: str, value: ast.expr, file: str) -> None:
        """Gives a constant its changed value, here and where it was imported."""
        home = self._modules.get(file)
        if home is None or name not in vars(home):
            raise NotPatchableError
        before = vars(home)[name]
        expression = ast.fix_missing_locations(ast.Expression(body=value))
        after = eval(compile(expression, file, "eval", dont_inherit=True), vars(home))  # noqa: S307 - our own source
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", {})
            if names.get(name) is before:
                cast("dict[str, Any]", names)[name] = after


def enclosing(tree: ast.Module, holder: ast.AST, field: str) -> ast.stmt | None:
    """Returns the function whose body contains a field of a node; outside of functions the statement of the
    module.
    """
    for statement in tree.body:
        for path in _paths(statement, holder, field):
            inside = (node for (node, below) in path if isinstance(node, _FUNCTIONS) and below == "body")
            return next(inside, statement)
    return None


Step = tuple[ast.AST, str]


def _paths(node: ast.AST, holder: ast.AST, field: str) -> Iterator[list[Step]]:
    """The way from a node to a field of the holder, at most one."""
    if node is holder:
        yield [(node, field)]
        return
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                for path in _paths(child, holder, field):
                    yield [(node, name), *path]
                    return


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)
