"""Whether what is followed on the hub can be trusted."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Gauge

from dsf_runtime.informer import Informer
from gitops_dsf.reconciler.series import PREFIX


class WatchMetrics:
    """One series for each resource, on the replica that leads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.broken = Gauge(
            f"{PREFIX}_watch_broken",
            "1 while the hub refuses the list or the watch of a resource, or says nothing: nothing is deleted"
            " that rests on it.",
            ["resource"],
            registry=registry,
        )

    @contextlib.contextmanager
    def following(self, informers: Sequence[Informer[Any]]) -> Iterator[None]:
        """Shows them while the block runs."""

        def shown(informer: Informer[Any]) -> float:
            return float(bool(informer.broken))

        try:
            for informer in informers:
                self.broken.labels(resource=informer.resource).set_function(partial(shown, informer))
            yield
        finally:
            self.broken.clear()
