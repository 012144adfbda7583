"""Scoring APIs that end with their test."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.scorer.serving import ServedScorer, serving
from tests.support.scorer.stand_in import Behaviour, StandIn


@pytest.fixture
def serve(warm_programs: Path) -> Iterator[Callable[..., ServedScorer]]:
    with ExitStack() as stack:
        yield lambda app, directory, *options: stack.enter_context(
            serving(app, directory, *options, programs=warm_programs)
        )


@pytest.fixture
def stand_in() -> Iterator[Callable[..., StandIn]]:
    started: list[StandIn] = []

    def start(behaviour: Behaviour, tls: ssl.SSLContext | None = None) -> StandIn:
        started.append(StandIn(behaviour, tls))
        return started[-1]

    yield start
    for one in started:
        one.close()
