"""The inputs that the fuzzer kept.

Those that once broke a reader, and those that reach new lines.
"""

import multiprocessing
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.fuzz.readers import READERS, Reader

CORPUS = Path(__file__).parents[1] / "fuzz/corpus"


def read(reader: Reader, inputs: list[Path], log: Connection) -> None:
    """Names each input before it is read, and what it raises."""
    for path in inputs:
        log.send((path.name, ""))
        try:
            reader.read(path.read_bytes())
        except Exception:  # noqa: BLE001 - any exception breaks a reader
            log.send((path.name, traceback.format_exc()))
            return


def outcome(reader: Reader, inputs: list[Path]) -> str:
    """What breaks the reader, empty for nothing.

    It runs in a process of its own, which may crash.
    """
    parent, child = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=read, args=(reader, inputs, child))
    process.start()
    child.close()
    last = wrong = ""
    try:
        while not wrong:
            last, wrong = parent.recv()
    except EOFError:
        pass
    process.join()
    if process.exitcode:
        return f"{last} ends the process with {process.exitcode}"
    return f"{last} raises {wrong}" if wrong else ""


@pytest.mark.parametrize("name", READERS)
def test_readers_survive_their_corpus(name: str) -> None:
    """`make fuzz` looks for more; each file that it adds is read here from then on."""
    inputs = sorted((CORPUS / name).iterdir())
    assert inputs
    assert outcome(READERS[name], inputs) == ""
