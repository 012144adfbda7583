"""Pauses and counted failures of all controllers that push a branch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git.credentials import GitError
from gitops_dsf.reconciler.loop import NotReady

RETRIES: Final = Backoff(first=10.0, ceiling=600.0, jitter=0)
"""Pauses after failures of git.

A server that is down must not be asked by every fleet every few seconds.
"""


@contextmanager
def counting_failures(outcomes: Counter) -> Iterator[None]:
    """Counts what fails inside. Raises NotReady for a failure of git, so that the loop pauses."""
    try:
        yield
    except (GitError, RepositoryError) as error:
        outcomes.labels(outcome="failed").inc()
        raise NotReady(str(error)) from error
    except (ApiError, NotReady):
        outcomes.labels(outcome="failed").inc()
        raise
