"""The inputs that the fuzzer kept: those that once broke a reader, and those that reach new lines."""

from pathlib import Path

import pytest

from tests.fuzz.readers import READERS

CORPUS = Path(__file__).parents[1] / "fuzz/corpus"


@pytest.mark.parametrize("name", READERS)
def test_readers_survive_their_corpus(name: str) -> None:
    """`make fuzz` looks for more; each file that it adds is read here from then on."""
    inputs = sorted((CORPUS / name).iterdir())
    assert inputs
    for path in inputs:
        try:
            READERS[name].read(path.read_bytes())
        except Exception as error:
            error.add_note(f"with {path}")
            raise
