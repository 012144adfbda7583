"""What the emitter writes reads back as what was meant, under YAML 1.1 and YAML 1.2."""

import io
import re
from typing import ClassVar

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gitops_dsf.canonicalyaml import emit
from tests.support import yamlfast
from tests.support.laws import examples

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = """yes No on y N ~ null 017 0o17 0x1f 1_000 12e03 1:20 .5 1.0 +1 _1 e1 2001-01-01 = << {} [ *a
    &a !t %x @x `x ' " \\ - ? : a: system:sa:x {{.name}}"""  # noqa: E501
SPACED = ("", "- a", "a: b", "a #b", " x", "x ", "a\nb", "a\n", "\na", "a\n\n", "a\tb\nc", "a\r\nb")
BREAKS = ("\u2028", "\x85", "\x7f", "\ufeffa", "a\u2029b\nc")
TRICKY = st.sampled_from([*WORDS.split(), *SPACED, *BREAKS])
SCALARS = st.one_of(
    TEXT,
    TRICKY,
    st.booleans(),
    st.none(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(TEXT, TRICKY), inner, max_size=4)
    ),
    max_leaves=15,
)
DOCUMENTS = st.dictionaries(st.one_of(TEXT, TRICKY), VALUES, max_size=5)


@examples(25, soak=1000)
@given(DOCUMENTS)
@example({})
@example({"a": 1e-07, "b": 1e300, "c": 1.5e16, "d": -0.0})
@example({"a": [[], [[1, {"b": []}]], {}, [{"c": "x\ny"}], "p\nq"]})
def test_round_trip_in_yaml_1_1(document: dict[str, object]) -> None:
    assert yamlfast.load(emit(document)) == document


class _LetterOfTheSpecification(yaml.SafeLoader):
    """YAML 1.1 reads y and n as booleans (https://yaml.org/type/bool.html).

    PyYAML by itself does not.
    """

    bool_values: ClassVar = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


_LetterOfTheSpecification.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("[yYnN]"), list("yYnN")
)


@pytest.mark.parametrize(
    "word", ["y", "Y", "yes", "n", "N", "No", "on", "Off", "true", "False", "null", "~", ""]
)
def test_words_of_yaml_1_1_stay_text(word: str) -> None:
    """A node named n or a label with the value y stays text for every parser, as a key, value or
    element.
    """
    document = {word: word, "list": [word]}
    text = emit(document)
    assert yaml.load(text, _LetterOfTheSpecification) == document  # noqa: S506 - a SafeLoader


@examples(25, soak=1000)
@given(DOCUMENTS)
@example({})
@example({"a": 1e-07, "b": 1e300, "c": 1.5e16})
def test_round_trip_in_yaml_1_2(document: dict[str, object]) -> None:
    parser = YAML(typ="safe", pure=True)
    assert parser.load(io.StringIO(emit(document))) == document
