"""status and doctor as people run them, against an API server of tests."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.apiserver import FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.hubobjects import Object, fleet, hub_with
from tests.support.served import serving

Serve = Callable[..., FakeApiServer]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves these objects (a small fleet of this moment without) until the test ends."""
    with ExitStack() as stack:

        def start(objects: list[Object] | None = None, **more: object) -> FakeApiServer:
            hub = hub_with(fleet(now=datetime.now(UTC)) if objects is None else objects, **more)
            return stack.enter_context(serving(hub))

        yield start


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a verb on a hub."""

    def verb(hub: FakeApiServer, *arguments: str) -> "subprocess.CompletedProcess[str]":
        kubeconfig = hub.kubeconfig(tmp_path / "kubeconfig")
        return gitops_dsf(*arguments, "--context", "hub", "--kubeconfig", kubeconfig)

    return verb
