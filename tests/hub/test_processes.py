"""Children of the hub suite are watched and never outlive it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hub.controlplane.listeners import session_members
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import ProcessError, Processes

ROOT = Path(__file__).parent.parent.parent

LISTEN = (
    "import socket, sys, time; s = socket.socket(); s.bind((sys.argv[1], int(sys.argv[2]))); s.listen();"
    " time.sleep(600)"
)


def listener(address: str) -> list[str]:
    return [sys.executable, "-I", "-c", LISTEN, address, str(free_port())]


def settled(processes: Processes, count: int) -> None:
    """Wait until `count` sockets listen."""
    deadline = time.monotonic() + 10
    while len(processes.listening()) < count and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_listener_beyond_loopback_is_named(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        processes.start("good", listener("127.0.0.1"))
        settled(processes, 1)
        assert processes.check_listeners() == 1
        processes.start("bad", listener("0.0.0.0"))
        settled(processes, 2)
        with pytest.raises(ProcessError, match=r"beyond loopback: bad \(process \d+\) on 0\.0\.0\.0:\d+$"):
            processes.check_listeners()


def test_a_listener_of_a_grandchild_is_seen_and_stopped(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        inner = " ".join(f"'{part}'" for part in listener("0.0.0.0"))
        process = processes.start("shell", ["/bin/sh", "-c", f"trap '' TERM; {inner} & wait"])
        settled(processes, 1)
        with pytest.raises(ProcessError, match="beyond loopback: shell"):
            processes.check_listeners()
        assert len(session_members([process.pid])) == 2
        processes.stop("shell", kill=True)
        assert session_members([process.pid]) == {}
        assert processes.left_behind() == []


def test_a_program_that_ends_early_shows_its_last_words(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        process = processes.start("brief", ["/bin/sh", "-c", "echo cannot go on; exit 3"])
        with pytest.raises(ProcessError, match=r"(?s)brief ended with 3 before it was ready.*cannot go on"):
            processes.ready(process, lambda: "not yet")


def test_a_program_that_is_never_ready_says_what_is_missing(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        process = processes.start("slow", ["/bin/sleep", "600"])
        with pytest.raises(ProcessError, match="slow was not ready within 0 s: the moon is not full"):
            processes.ready(process, lambda: "the moon is not full", timeout=0.2)


def test_a_restart_keeps_the_command_and_the_log(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        first = processes.start("one", ["/bin/sh", "-c", "echo started; exec sleep 600"])
        while not first.tail():
            time.sleep(0.02)
        second = processes.restart("one", kill=True)
        while first.tail().count("started") < 2:
            time.sleep(0.02)
        assert second.written() == "started\n"
        assert second.pid != first.pid
        assert not first.running
        with pytest.raises(ProcessError, match=f"one is already running as process {second.pid}"):
            processes.start("one", ["/bin/true"])
    assert not second.running


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends orphans on Linux only")
def test_nothing_outlives_a_suite_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from tests.hub.controlplane.processes import Processes;"
        "processes = Processes(logs=Path(sys.argv[1]));"
        "print(processes.start('one', ['/bin/sleep', '600']).pid, flush=True); time.sleep(600)"
    )
    suite = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert suite.stdout is not None
    child = int(suite.stdout.readline())
    suite.send_signal(signal.SIGKILL)
    suite.wait()
    suite.stdout.close()
    deadline = time.monotonic() + 5
    while session_members([child]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert session_members([child]) == {}


def test_the_environment_of_the_person_is_not_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somewhere/else")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    with Processes(logs=tmp_path) as processes:
        process = processes.start("show", ["/usr/bin/env"], environment={"GIVEN": "yes"})
        process.child.wait(timeout=10)
        names = {line.strip().partition("=")[0] for line in process.tail().splitlines()}
    assert {"GIVEN", "PATH", "HOME"} <= names
    assert not names & {"KUBECONFIG", "HTTPS_PROXY"}
    assert os.environ["KUBECONFIG"] == "/somewhere/else"


def test_processes_that_run_tests_side_by_side_draw_from_different_ports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = []
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    for worker in range(3):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", f"gw{worker}")
        drawn.append({free_port() % 3 for _ in range(20)})
    assert sorted(drawn) == [{0}, {1}, {2}]
