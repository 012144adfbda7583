"""The two sides of a comparison.

A model of the world on its virtual loop, and the real program on the real control plane. The same
steps are carried out on both.
"""

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from gitops_dsf.simulator.defaults import with_defaults
from tests.hub.controlplane.api import Client, Object
from tests.support.apiserver import merged
from tests.world.apiserver import WorldApiServer, stamp
from tests.world.loop import WorldLoop

T = TypeVar("T")
PEOPLE = "people"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One write of a sequence, by anybody who is not the program that is compared."""

    verb: str
    """`create`, `merge`, `status` (merges into the status) or `delete`."""
    kind: str
    name: str
    namespace: str = ""
    body: Object = field(default_factory=dict)

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.verb} {self.kind.rpartition('/')[2]} {place} {self.body or ''}".rstrip()


class Side(Protocol):
    """What carries out steps, and shows what is there."""

    def play(self, step: Step) -> None: ...

    def find(self, kind: str, name: str, *, namespace: str = "") -> Object | None: ...

    def list(self, kind: str, *, namespace: str = "") -> list[Object]: ...


@dataclass
class Real:
    """The real hub."""

    client: Client

    def play(self, step: Step) -> None:
        place: dict[str, Any] = {"namespace": step.namespace or None}
        match step.verb:
            case "create":
                self.client.create(_whole(step))
            case "merge":
                self.client.patch(step.kind, step.name, step.body, **place)
            case "status":
                self.client.patch_status(step.kind, step.name, step.body, **place)
            case "delete":
                self.client.delete(step.kind, step.name, **place)
            case _:
                raise AssertionError(step)

    def find(self, kind: str, name: str, *, namespace: str = "") -> Object | None:
        return self.client.find(kind, name, namespace=namespace or None)

    def list(self, kind: str, *, namespace: str = "") -> list[Object]:
        return self.client.list(kind, namespace=namespace or None)


class Modelled:
    """The world's API server with models, on a virtual loop that goes on only while `passing` is
    called.
    """

    def __init__(self) -> None:
        self.loop = WorldLoop()
        self.hub = WorldApiServer()
        self.tasks: list[Any] = []

    def start(self, program: Callable[[], Any]) -> None:
        """Starts a model's coroutine."""

        async def begin() -> None:
            self.tasks.append(self.loop.create_task(program()))

        self.loop.run_until_complete(begin())

    def passing(self, seconds: float) -> None:
        """Lets time pass."""
        self.during(lambda: None, seconds)

    def during(self, what: Callable[[], T], seconds: float = 0.0) -> T:
        """Does something on the loop, and lets time pass.

        A model that ended with an error fails here.
        """

        async def main() -> T:
            answer = what()
            at = self.loop.create_future()
            self.loop.call_later(seconds, at.set_result, None)
            await at
            return answer

        answer = self.loop.run_until_complete(main())
        for task in self.tasks:
            if task.done():
                task.result()
        return answer

    def stamp(self, seconds: float) -> str:
        """The time so many seconds from now."""
        return stamp(self.loop.wall() + seconds)

    def play(self, step: Step) -> None:
        self.during(lambda: self._write(step))

    def _write(self, step: Step) -> None:
        plural = plural_of(step.kind)
        if step.verb == "delete":
            self.hub.erase(PEOPLE, plural, step.name, namespace=step.namespace)
            return
        key = (plural, step.namespace, step.name)
        if step.verb == "create":
            assert key not in self.hub.objects, step
            item = copy.deepcopy(_whole(step))
            if item["kind"] == "Placement":
                # The API server completes a Placement. What webhooks do is not part of what is
                # compared.
                item = dict(with_defaults([item])[0])
        else:
            change = {"status": step.body} if step.verb == "status" else step.body
            item = merged(copy.deepcopy(self.hub.objects[key]), copy.deepcopy(change))
        self.hub.write(PEOPLE, plural, step.name, item, namespace=step.namespace)

    def find(self, kind: str, name: str, *, namespace: str = "") -> Object | None:
        return self.hub.objects.get((plural_of(kind), namespace, name))

    def list(self, kind: str, *, namespace: str = "") -> list[Object]:
        return self.hub.of(plural_of(kind), namespace)

    def close(self) -> None:
        for task in self.tasks:
            task.cancel()

        async def settle() -> None:
            await asyncio.gather(*self.tasks, return_exceptions=True)

        self.loop.run_until_complete(settle())
        self.loop.close()


def plural_of(kind: str) -> str:
    return f"{kind.rpartition('/')[2].lower()}s"


def _whole(step: Step) -> Object:
    version, _, short = step.kind.rpartition("/")
    place = {"namespace": step.namespace} if step.namespace else {}
    metadata = {"name": step.name, **place, **step.body.get("metadata", {})}
    return {"apiVersion": version, "kind": short, **step.body, "metadata": metadata}
