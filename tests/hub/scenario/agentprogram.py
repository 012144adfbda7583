"""The agent program as a process: the agent of a spoke, or the hub scorer."""

import sys
from dataclasses import dataclass
from typing import Any

import httpx

from tests.hub.controlplane.pod import Pod
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Process
from tests.support.agent import hasty


@dataclass(frozen=True, kw_only=True)
class AgentProgram:
    """A running one. ``url`` is the address of its pages."""

    pod: Pod
    url: str

    @property
    def process(self) -> Process:
        """The current process. A test may have killed one and started another."""
        return self.pod.processes.running[self.pod.name]

    def metrics(self) -> str:
        return httpx.get(f"{self.url}/metrics", timeout=60, trust_env=False).text

    def ready(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{self.url}/readyz", timeout=60, trust_env=False).json()
        return answer


def start(pod: Pod, *arguments: str, environment: dict[str, str], waits: str = "") -> str:
    """Starts the program with the arguments and the environment of its Deployment, and these. Returns the
    address of its pages when it is healthy. ``waits`` are shorter delays, see hasty.
    """
    port = free_port()
    process = pod.start(
        [sys.executable, "-P", hasty.__file__, waits] if waits else [sys.executable, "-m", "dsf_agent"],
        f"--metrics-address=127.0.0.1:{port}",
        "--splay=0",
        "--log-format=text",
        *arguments,
        environment=environment,
    )
    url = f"http://127.0.0.1:{port}"
    pod.processes.ready(process, lambda: _unhealthy(url))
    return url


def _unhealthy(url: str) -> str | None:
    """Why it is not healthy yet."""
    try:
        answer = httpx.get(f"{url}/healthz", timeout=2, trust_env=False)
    except httpx.HTTPError as error:
        return repr(error)
    return None if answer.status_code == httpx.codes.OK else answer.text
