"""Every client reads the answers of a Go server that flushes each piece.

The size of the pieces does not matter.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.controlplane.binaries import obtain
from tests.integration.runtime.test_honest_answers import MATRIX, READERS, RESULTS, SIZES

pytestmark = [pytest.mark.family("streaming")]


@pytest.fixture(scope="module", params=[MATRIX, RESULTS], ids=["700 series", "3000 results"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, bytes]]:
    """The URL of a server, and the answer that it gives in pieces."""
    file: Path = tmp_path_factory.mktemp("streaming") / "answer.json"
    file.write_bytes(request.param)
    program = obtain("streaming").path("streaming-server")
    with subprocess.Popen([program, file], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}", request.param
        finally:
            process.kill()


@pytest.mark.parametrize("pause", [0, 500])
@pytest.mark.parametrize("name", READERS)
async def test_pieces_of_every_size_are_read(
    server: tuple[str, bytes], name: str, pause: int
) -> None:
    """The server would compress for a client that asks for it: none of ours does."""
    url, answer = server
    for size in SIZES:
        assert await READERS[name](f"{url}/{size}/{pause}", None) == answer, size
