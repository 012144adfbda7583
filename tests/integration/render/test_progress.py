"""What a terminal sees of long work, and that nothing of it reaches pipes. The command runs on a real
pseudo-terminal.
"""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from gitops_dsf.cli.scaffold import scaffold
from tests.support import fleets

ESCAPE = b"\x1b"
URL = "https://git.example.com/team/fleet.git"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", registry="registry.example.com", git_url=URL)
    more = fleets.text_of([fleets.cluster(f"more-{number:03d}") for number in range(497)])
    (tmp_path / "fleet" / "clusters" / "more.yaml").write_text(more, encoding="utf-8")
    return tmp_path / "fleet"


def on_a_terminal(
    programs: Path, *arguments: str, cwd: Path, term: str = "xterm"
) -> tuple[int, bytes, bytes]:
    """Exit code, what went to the pipe on standard output, and what the terminal on standard error
    was sent.
    """
    ours, theirs = pty.openpty()
    command = [programs / "gitops-dsf", *arguments]
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": term}
    ) as process:
        os.close(theirs)
        shown = bytearray()
        try:
            while chunk := os.read(ours, 65_536):
                shown += chunk
        except OSError:  # Linux: the other end of a pseudo-terminal was closed
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    return process.returncode, out, bytes(shown)


def left_standing(shown: bytes) -> bytes:
    """What stays on the screen: a line that was erased does not."""
    return b"\n".join(line.rpartition(b"\r\x1b[K")[2] for line in shown.replace(b"\r\n", b"\n").split(b"\n"))


def test_validate_says_what_it_is_at_and_takes_it_back(large: Path, warm_programs: Path) -> None:
    code, out, shown = on_a_terminal(warm_programs, "validate", cwd=large)
    assert code == 0
    assert b"checking 504 documents" in shown
    assert b"checking" not in left_standing(shown)
    assert b"499 clusters" in left_standing(shown)
    assert ESCAPE not in out


def test_render_says_what_it_is_at_and_takes_it_back(large: Path, warm_programs: Path) -> None:
    code, out, shown = on_a_terminal(warm_programs, "render", cwd=large)
    assert code == 0
    places = [shown.find(text) for text in (b"checking 504 documents", b"comparing ", b"writing ")]
    assert -1 not in places
    assert places == sorted(places)
    assert left_standing(shown).strip() == b""
    assert ESCAPE not in out


def test_a_terminal_that_cannot_erase_is_spared(large: Path, warm_programs: Path) -> None:
    _, _, shown = on_a_terminal(warm_programs, "validate", cwd=large, term="dumb")
    assert ESCAPE not in shown
    assert b"checking" not in shown


def test_a_small_fleet_is_done_before_anybody_could_read(tmp_path: Path, warm_programs: Path) -> None:
    scaffold(target=tmp_path / "fleet", name="fleet", registry="registry.example.com", git_url=URL)
    _, _, shown = on_a_terminal(warm_programs, "render", cwd=tmp_path / "fleet")
    assert shown == b""


def test_pipes_hold_neither_progress_nor_escapes(large: Path, warm_programs: Path) -> None:
    for verb in ("validate", "render"):
        done = subprocess.run(
            [warm_programs / "gitops-dsf", verb],
            cwd=large,
            capture_output=True,
            timeout=120,
            check=True,
        )
        assert ESCAPE not in done.stdout + done.stderr
        assert b"checking" not in done.stderr
