"""What `tests.support.warmpython` starts behaves as a Python of its own."""

import asyncio
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import until


def run(
    folder: Path, code: str, *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [folder / "python", "-c", code, *arguments],
        cwd="/",
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_gets_arguments_folder_environment_and_streams(warm_programs: Path) -> None:
    code = (
        "import os, sys; print(sys.argv, os.getcwd(), os.environ['NAME'], input());"
        "print('é', file=sys.stderr)"
    )
    done = run(warm_programs, code, "a b", stdin="line\n", NAME="value")
    assert done.stdout == "['-c', 'a b'] / value line\n"
    assert (done.returncode, done.stderr) == (0, "é\n")


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
    ],
)
def test_its_end_is_the_end_of_the_client(warm_programs: Path, code: str, expected: int, said: str) -> None:
    done = run(warm_programs, code)
    assert done.returncode == expected
    assert said in done.stderr


def test_what_a_fork_cannot_be_is_a_new_python(warm_programs: Path) -> None:
    done = run(
        warm_programs, "import sys; print(hash('a'), sys.flags.hash_randomization)", PYTHONHASHSEED="0"
    )
    again = run(
        warm_programs, "import sys; print(hash('a'), sys.flags.hash_randomization)", PYTHONHASHSEED="0"
    )
    assert done.stdout.endswith(" 0\n")
    assert done.stdout == again.stdout


WAITING = "import os, signal; print(os.getpid(), flush=True); signal.pause()"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.real_time
async def test_signals_reach_it(warm_programs: Path, number: signal.Signals) -> None:
    """A client that is killed cannot pass that on; its program is killed nevertheless."""
    client = await asyncio.create_subprocess_exec(
        warm_programs / "python", "-c", WAITING, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert client.stdout is not None
    program = Path(f"/proc/{int(await client.stdout.readline())}")
    client.send_signal(number)
    assert await client.wait() == -number
    await until(lambda: not program.exists(), what="the program has ended")


@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\x10half"], ids=["nothing", "half a length", "half"])
def test_a_client_that_ends_before_it_has_said_all_harms_no_other(warm_programs: Path, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(warm_programs.parent / "server"))
        if sent:
            socket.send_fds(client, [sent], [0, 1, 2])
    assert run(warm_programs, "print('well')").stdout == "well\n"


def test_a_program_whose_client_is_reset_is_killed_and_harms_no_other(warm_programs: Path) -> None:
    """The kernel resets the connection when the client leaves something unread."""
    request = repr((["python", "-c", "import time; time.sleep(60)"], "/", {})).encode()
    null = os.open(os.devnull, os.O_RDWR)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(warm_programs.parent / "server"))
        socket.send_fds(client, [len(request).to_bytes(4)], [null] * 3)
        client.sendall(request)
        client.sendall(bytes([signal.SIGCONT]))
    os.close(null)
    assert run(warm_programs, "print('well')").stdout == "well\n"
