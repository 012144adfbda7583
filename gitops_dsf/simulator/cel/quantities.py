"""Quantity functions (apiserver/pkg/cel/library/quantity.go)."""

from collections.abc import Mapping
from fractions import Fraction

from gitops_dsf.simulator.cel.function import (
    CelFailure,
    CelFunction,
    CelUnsupported,
    Opaque,
    function,
    method,
    parses,
    text_of,
)
from gitops_dsf.simulator.quantity import Quantity, QuantityError, parse

TYPE = "kubernetes.Quantity"
_MAX_INT64 = 2**63 - 1


class QuantityFunctions:
    """The functions, and the internal form of every quantity of the current evaluation.

    isInteger, asInteger and asApproximateFloat depend on how Kubernetes stores a number: it does
    not treat 1000m as an integer. The value alone does not show that, so the forms are remembered
    by value. If a value has two forms, or comes from arithmetic, the answer is unknown.
    """

    def __init__(self) -> None:
        self._forms: dict[str, Quantity | None] = {}

    def forget(self) -> None:
        """Clears the forms. Call it before each evaluation."""
        self._forms.clear()

    def functions(self) -> tuple[CelFunction, ...]:
        operands = ((TYPE, TYPE, TYPE), (TYPE, "int", TYPE))
        return (
            function("quantity", self.parse, ("string", TYPE)),
            parses("isQuantity", _parsed),
            function("sign", lambda value: _sign(_value(value)), (TYPE, "int")),
            method("isInteger", lambda value: self._as_int64(value) is not None, (TYPE, "bool")),
            method("asInteger", self.as_integer, (TYPE, "int")),
            method(
                "asApproximateFloat",
                lambda value: self._form(value).approximate(),
                (TYPE, "double"),
            ),
            method("add", self.add, *operands),
            method("sub", self.subtract, *operands),
        )

    def parse(self, text: str) -> Opaque:
        parsed = _parsed(text)
        return self._remember(parsed.value, parsed)

    def add(self, value: Opaque, other: Opaque | int) -> Opaque:
        return self._remember(_value(value) + _value(other), None)

    def subtract(self, value: Opaque, other: Opaque | int) -> Opaque:
        return self._remember(_value(value) - _value(other), None)

    def as_integer(self, value: Opaque) -> int:
        number = self._as_int64(value)
        if number is None:
            raise CelFailure("cannot convert value to integer")
        return number

    def _as_int64(self, value: Opaque) -> int | None:
        """Quantity.AsInt64: no fraction in its scale, no arbitrary-precision form, no overflow."""
        form = self._form(value)
        number = form.value
        if form.arbitrary or form.scale > 0 or abs(number) > _MAX_INT64:
            return None
        return int(number)

    def _form(self, value: Opaque) -> Quantity:
        form = self._forms.get(text_of(value, TYPE))
        if form is None:
            raise CelUnsupported(
                "the integer or float form of a quantity that came from arithmetic or has two"
                " spellings"
            )
        return form

    def _remember(self, value: Fraction, form: Quantity | None) -> Opaque:
        text = str(value)
        earlier = self._forms.get(text, form)
        if earlier is not None and form is not None and earlier.same_form(form):
            self._forms[text] = form
        else:
            self._forms[text] = None
        return {TYPE: text}


def _parsed(text: str) -> Quantity:
    try:
        return parse(text)
    except QuantityError as error:
        raise CelFailure(str(error)) from error


def compare(value: Opaque, other: Opaque) -> int:
    return _sign(_value(value) - _value(other))


def _value(value: Mapping[str, str] | int) -> Fraction:
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(text_of(value, TYPE))


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
