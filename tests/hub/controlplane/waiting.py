"""Waits for something that another program does.

The failure text says what was there instead.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeVar

import httpx

from tests.hub.controlplane.api import ApiError, Client, Object, is_true

CRD: Final = "apiextensions.k8s.io/v1/CustomResourceDefinition"

POLL_SECONDS = 0.1
MAX_WAIT_SECONDS = 120.0
"""Much more than anything takes on a busy machine: what is true ends the wait at once. Less than
the three minutes after which Argo CD looks again by itself.
"""

T = TypeVar("T")


def wait_for(
    look: Callable[[], T | None],
    *,
    what: str,
    timeout: float = MAX_WAIT_SECONDS,
    seen: Callable[[], object] | None = None,
) -> T:
    """The first truthy answer of `look`, asked every 0.1 s; AssertionError after `timeout` seconds.

    A refused or failed request counts as "not yet": API servers restart under the tests. `seen` is
    asked once more for the failure text; without it the last answer is shown.
    """
    deadline = time.monotonic() + timeout
    last: object = None
    while True:
        try:
            answer = look()
            if answer:
                return answer
            last = answer
        except (ApiError, httpx.TransportError) as error:
            last = error
        if time.monotonic() > deadline:
            raise AssertionError(
                f"{what}: not within {timeout:.0f} s; last seen: {_shown(seen, last)}"
            )
        time.sleep(POLL_SECONDS)


def hold_for(look: Callable[[], object], *, what: str, seconds: float) -> None:
    """Assert that `look` stays truthy for so long; for "nothing happens" claims."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = look()
        assert answer, f"{what}: did not hold; saw {answer!r}"
        time.sleep(POLL_SECONDS)


def wait_until_there(
    client: Client,
    kind: str,
    name: str,
    *,
    namespace: str | None = None,
    seen: Callable[[], object] | None = None,
) -> Object:
    """The object, once it exists."""
    what = f"{kind} {name} is there ({namespace})"
    return wait_for(lambda: client.find(kind, name, namespace=namespace), what=what, seen=seen)


def wait_until_gone(client: Client, kind: str, *names: str, namespace: str | None = None) -> None:
    """Wait until there are no such objects."""

    def left() -> list[Object | None]:
        found = [client.find(kind, name, namespace=namespace) for name in names]
        return [item for item in found if item is not None]

    wait_for(lambda: not left(), what=f"{kind} {', '.join(names)} is gone ({namespace})", seen=left)


def wait_until_served(client: Client, crds: Iterable[Object]) -> None:
    """Wait until the API server serves what these CRDs define, and lists it, which comes a moment
    later. That it did so for an earlier CRD of the same name does not count.
    """
    for crd in crds:
        name, spec = crd["metadata"]["name"], crd["spec"]
        wait_for(partial(_established, client, name), what=f"{name} is established")
        version = next(version["name"] for version in spec["versions"] if version["served"])
        kind = f"{spec['group']}/{version}/{spec['names']['kind']}"
        wait_for(partial(client.serves, kind), what=f"the API server serves and lists {kind}")


def remove_kinds(client: Client, names: Iterable[str]) -> None:
    """Delete these CRDs, and wait until they are gone.

    A CRD that is applied while it is being deleted goes all the same, so whoever brings the kind
    next must not find it on its way.
    """
    names = list(names)
    for name in names:
        client.delete(CRD, name)
    wait_until_gone(client, CRD, *names)


def _established(client: Client, crd: str) -> bool:
    return is_true(client.get(CRD, crd), "Established")


def _shown(seen: Callable[[], object] | None, last: object) -> str:
    if seen is not None:
        try:
            last = seen()
        except (ApiError, httpx.TransportError) as error:
            last = error
    text = f"{type(last).__name__}: {last}" if isinstance(last, Exception) else repr(last)
    return text if len(text) <= 4000 else f"{text[:4000]}..."
