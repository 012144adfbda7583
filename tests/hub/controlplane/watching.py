"""Every version of the objects of a collection, with the time at which a watch told it.

A poll sees what is there when it looks. A watch also sees what was there in between.
"""

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from tests.hub.controlplane.api import Client, Object

WATCH_SECONDS = 2
"""How long one request watches. Leaving the block waits for its end."""


class Version(NamedTuple):
    """One object as it became."""

    at: float
    """Unix time on this machine."""
    event: str
    """ADDED, MODIFIED or DELETED, with the object as it was last; LISTED at the beginning."""
    item: Object

    @property
    def name(self) -> str:
        return str(self.item["metadata"]["name"])


class Watch:
    """Follows a collection from entering the block until leaving it, in a thread.

    What is there at the beginning counts as a version.
    """

    def __init__(self, client: Client, kind: str, *, namespace: str | None = None) -> None:
        self._client = client
        self._path = client.path(kind, namespace=namespace)
        self._versions = list[Version]()
        self._news = threading.Condition()
        self._ends = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._since = ""

    def __enter__(self) -> Self:
        listed = self._client.request("GET", self._path)
        self._since = listed["metadata"]["resourceVersion"]
        self._versions = [Version(time.time(), "LISTED", item) for item in listed["items"]]
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._thread.join()
        if error is None and self._failure is not None:
            raise self._failure

    @property
    def versions(self) -> Sequence[Version]:
        """All that was told so far, in the order of the API server."""
        with self._news:
            return tuple(self._versions)

    def first(
        self, fits: Callable[[Version], bool], *, after: float, timeout: float, what: str
    ) -> Version:
        """The first version that fits and was told after a moment; waits for it."""
        deadline = time.monotonic() + timeout
        looked = 0
        with self._news:
            while True:
                for version in self._versions[looked:]:
                    if version.at > after and fits(version):
                        return version
                looked = len(self._versions)
                if self._failure is not None:
                    raise self._failure
                left = deadline - time.monotonic()
                assert left > 0, f"{what}: not within {timeout:.0f} s"
                self._news.wait(left)

    def _run(self) -> None:
        try:
            while not self._ends.is_set():
                self._request()
        except Exception as error:  # noqa: BLE001 - raised in the thread that asks
            with self._news:
                self._failure = error
                self._news.notify_all()

    def _request(self) -> None:
        for kind, item in self._client.follow(self._path, since=self._since, seconds=WATCH_SECONDS):
            self._since = item["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                with self._news:
                    self._versions.append(Version(time.time(), kind, item))
                    self._news.notify_all()
