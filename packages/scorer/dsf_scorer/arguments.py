"""Converts the ``arguments`` of a scoring request to the annotated type of the scoring function's second
parameter.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from dsf_scorer.errors import DefinitionError, RefusedError


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """How a scoring function takes its arguments.

    The annotation can be any type that msgspec reads from JSON: a Struct (``forbid_unknown_fields=True``
    catches misspelt names), a dataclass, a TypedDict or a dict. Without an annotation it is a dict.
    """

    decoder: "msgspec.json.Decoder[Any] | None"
    """None if the function takes no arguments."""
    default: Any
    """The parameter's default; inspect.Parameter.empty if it has none."""

    @property
    def taken(self) -> bool:
        return self.decoder is not None

    def read(self, raw: bytes | None) -> Any:  # noqa: ANN401 - whatever the author annotated
        """Returns the value for the second parameter. Raises RefusedError with the invalid field."""
        if self.decoder is None:
            if raw is not None and msgspec.json.decode(raw):
                raise RefusedError(
                    "this scorer takes no arguments; remove scoring.arguments from its DynamicScorer"
                )
            return None
        if raw is None:
            if self.default is not inspect.Parameter.empty:
                return self.default
            raw = b"{}"
        try:
            return self.decoder.decode(raw)
        except msgspec.ValidationError as error:
            text = str(error)
            text = text.replace("`$", "`$.arguments", 1) if "`$" in text else f"{text} - at `$.arguments`"
            raise RefusedError(f"{text} (scoring.arguments of the DynamicScorer)") from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise RefusedError(f"arguments are not JSON: {error}", status=400) from None


def of(function: Callable[..., Any]) -> Arguments:
    """Reads the function's signature. Raises DefinitionError if it is not (series) or (series, arguments)."""
    name = getattr(function, "__name__", repr(function))
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError) as error:
        msg = f"the signature of {name} cannot be read: {error}"
        raise DefinitionError(msg) from error
    allowed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(signature.parameters.values())
    if not 1 <= len(parameters) <= 2 or any(parameter.kind not in allowed for parameter in parameters):
        msg = f"{name}{signature} must take (series) or (series, arguments)"
        raise DefinitionError(msg)
    if len(parameters) == 1:
        return Arguments(decoder=None, default=inspect.Parameter.empty)
    annotation = parameters[1].annotation
    expected = dict[str, Any] if annotation is inspect.Parameter.empty else annotation
    try:
        decoder = msgspec.json.Decoder(expected)
    except TypeError as error:
        msg = f"{name}: arguments cannot be read into {expected!r}: {error}"
        raise DefinitionError(msg) from error
    return Arguments(decoder=decoder, default=parameters[1].default)
