"""The laws of proposals, and what must be proposed once the faults have ended.

docs/operate/proposals.md promises them.
"""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from gitops_dsf.reconciler.proposals import changes
from tests.support import yamlfast
from tests.support.githubserver import Pull
from tests.world import fleet, git
from tests.world.forge import BRANCHES
from tests.world.git import Push
from tests.world.loop import Program, world_loop
from tests.world.programs import AUTHOR

if TYPE_CHECKING:
    from tests.world.world import World

LOCKS: Final = "locks"
INVENTORY: Final = "inventory"
FOLDERS: Final = {LOCKS: "locks/", INVENTORY: "clusters/"}
"""What the commits of a kind may change."""
APART_SECONDS: Final = 400.0
"""Two pushes of a kind are ten minutes apart, from when their checks began: a check takes up to 200
s here.
"""
FIRST_PAUSE_SECONDS: Final = 600.0
"""Between the first two pushes of a kind. Each pause is twice as long as the one before."""
MAX_PAUSE_SECONDS: Final = 4 * 3600.0
"""After twice this time without a push the pauses begin anew."""
PROPOSED_SECONDS: Final = 2700.0
"""Within this time a change is proposed when nothing fails any more: the pause after failures is up
to half an hour, two checks must find the change, and a new leader waits for ten minutes before a
cluster has left.
"""
LEFT_SECONDS: Final = 600.0
"""A cluster that has been absent for so long has left."""
LIMIT_SECONDS: Final = 30.0
"""What a check that met a limit of the forge may go on asking."""
CLOSED_BY_US: Final = "<!-- gitops-dsf: closed by the reconciler -->"
Files = Mapping[str, bytes | None]
"""The content of files by path; None for a file that is removed."""


@dataclass(kw_only=True)
class Pushed:
    """The last push of a kind that the server took."""

    at: float
    program: Program
    is_known: bool
    """Whether the program got the answer for certain."""
    count: int
    """How many it pushed without a long pause."""

    @property
    def pause(self) -> float:
        """Seconds until the next one may be pushed."""
        return float(min(FIRST_PAUSE_SECONDS * 2 ** (self.count - 1), MAX_PAUSE_SECONDS))


@dataclass(kw_only=True)
class Missing:
    """A change that is not proposed."""

    files: Files
    since: float


@dataclass
class ProposalLaws:
    """Looks at every push and at every request to the forge. `tick` looks each minute."""

    world: "World"
    _pushes: dict[str, Pushed] = field(default_factory=dict)
    _missing: dict[str, Missing] = field(default_factory=dict)
    _absent: dict[str, float] = field(default_factory=dict)
    """Clusters of git that are not on the hub, and since when."""
    _limited: dict[Program, tuple[float, float]] = field(default_factory=dict)
    """When the forge asked a program to wait, and until when."""
    _worked_out: tuple[object, Files] | None = None
    """What the inventory was worked out from last, and the result."""

    # After each request.

    def pushed(self, push: Push) -> None:
        """The server took a push of the reconciler."""
        if not push.branch.startswith(BRANCHES):
            if push.branch == git.MAIN:
                self._break("protected", f"the reconciler pushed to {push.branch}")
            return
        repository = self.world.repository
        kind = push.branch.removeprefix(BRANCHES).partition("-")[0]
        if push.before is not None:
            self._count_check("theirs")
            author = repository.commits[push.before].author
            if author != AUTHOR:
                verb = "deleted" if push.after is None else "overwrote"
                self._break("theirs", f"{push.branch} was {verb}, and its commit was by {author}")
        if push.after is None:
            self._count_check("closed-first")
            pull = self.world.forge.newest(push.branch)
            if pull is not None and pull.state == "open":
                self._break(
                    "closed-first", f"{push.branch} was deleted while {pull.number} is open"
                )
            return
        self._count_check("sources")
        commit = repository.commits[push.after]
        outside = [
            path for path in repository.changed(push.after) if not path.startswith(FOLDERS[kind])
        ]
        if outside or len(commit.parents) != 1 or commit.author != AUTHOR:
            self._break("sources", f"{push.branch} has {outside}, {commit.parents}")
        if not repository.has(git.MAIN, commit.parents[0]):
            self._break("sources", f"{push.branch} is not on top of {git.MAIN}")
        self._pause(kind, push.branch)

    def _pause(self, kind: str, branch: str) -> None:
        """A branch was created or written."""
        program = self.world.network.requester
        if program is None:
            return
        now, last = world_loop().time(), self._pushes.get(kind)
        is_known = self._is_fair(git.HOST)
        self._count_check("pauses")
        if last is not None and last.program is program and last.is_known:
            waited = now - last.at
            if waited < APART_SECONDS:
                self._break(
                    "pauses", f"{branch} was pushed {waited:.0f} s after the last of {kind}"
                )
        goes_on = (
            last is not None and last.program is program and now < last.at + 2 * MAX_PAUSE_SECONDS
        )
        count = last.count + 1 if last is not None and goes_on else 1
        self._pushes[kind] = Pushed(at=now, program=program, is_known=is_known, count=count)

    def wrote(self, method: str, pull: Pull) -> None:
        """A request changed a pull request."""
        network = self.world.network
        program = network.requester
        assert program is not None
        self.world.history.note(program.name, f"{method} pull request {pull.number} {pull.branch}")
        self.world.laws.fenced(program, f"{method} of pull request {pull.number}")
        if method != "POST":
            return
        earlier = [one for one in self.world.forge.pulls[:-1] if one.branch == pull.branch]
        self._count_check("refused")
        if earlier and _is_refused(earlier[-1]):
            self._break("refused", f"{pull.branch} was refused as {earlier[-1].number}")

    def limited(self, program: Program, seconds: float) -> None:
        """The forge asked a program to wait."""
        now = world_loop().time()
        if now > self._limited.get(program, (0.0, 0.0))[1]:
            self._limited[program] = now, now + seconds

    def asked(self, program: Program) -> None:
        """A program asked the forge for something."""
        at, until = self._limited.get(program, (0.0, 0.0))
        now = world_loop().time()
        if until:
            self._count_check("limits")
            if at + LIMIT_SECONDS < now < until and self._is_fair(git.HOST):
                self._break("limits", f"{program.name} asked {until - now:.0f} s too early")
        if self.world.forge.violations:
            self._break("documented", self.world.forge.violations[0])

    # Each minute.

    def tick(self) -> None:
        """Looks whether what should be proposed is not, though nothing has failed for a long
        time.
        """
        now = world_loop().time()
        if not self._is_quiet():
            self._missing.clear()
        self._notice_absence()
        for kind in FOLDERS:
            files = self.wanted(kind)
            if not files or self._is_offered(kind, files) or self._waits(kind):
                self._missing.pop(kind, None)
                continue
            known = self._missing.get(kind)
            if known is None or known.files != files:
                self._missing[kind] = Missing(files=files, since=now)
                continue
            self._count_check("proposed")
            if now > known.since + PROPOSED_SECONDS:
                self._break(
                    "proposed", f"{sorted(files)} is not for {(now - known.since) / 60:.0f} min"
                )

    def unsettled(self) -> Iterator[str]:
        """What is proposed and should not be, and what should be and is not."""
        repository, forge = self.world.repository, self.world.forge
        for kind in FOLDERS:
            files = self.wanted(kind)
            if files and not self._is_offered(kind, files) and not self._waits(kind):
                yield f"{sorted(files)} is not proposed"
            for branch in sorted(repository.branches):
                if not branch.startswith(f"{BRANCHES}{kind}-"):
                    continue
                pull = forge.newest(branch)
                if repository.commits[repository.branches[branch]].author != AUTHOR:
                    continue
                offers = pull.sha if pull is not None else repository.branches[branch]
                if not _has(repository, offers, files):
                    yield f"{branch} is still there; wanted: {sorted(files)}"
                elif pull is None:
                    yield f"{branch} has no pull request"
        for pull in forge.open_pulls:
            kind = pull.branch.removeprefix(BRANCHES).partition("-")[0]
            theirs = repository.commits[repository.branches[pull.branch]].author != AUTHOR
            if not theirs and not _has(repository, pull.sha, self.wanted(kind)):
                yield f"pull request {pull.number} is still open"

    # What should be proposed.

    def wanted(self, kind: str) -> Files:
        """What a proposal of this kind changes now; empty if nothing."""
        return self._wanted_lock() if kind == LOCKS else self._wanted_inventory()

    def _wanted_lock(self) -> Files:
        name = self.world.sources.by_page
        path = f"locks/{name}.yaml"
        text = self.world.repository.read(git.MAIN).get(path)
        if text is None:
            return {}
        lock = yamlfast.load(text)
        page = self.world.scoring.page
        if lock["spec"]["config"] == page:
            return {}
        lock["spec"]["config"] = page
        return {path: yaml.safe_dump(lock).encode()}

    def _wanted_inventory(self) -> Files:
        """As `gitops-dsf import` would write it."""
        head = self.world.repository.branches[git.MAIN]
        clusters = [
            item
            for item in self.world.hub.of("managedclusters")
            if "deletionTimestamp" not in item["metadata"]
        ]
        now = world_loop().time()
        gone = [name for name, since in self._absent.items() if now >= since + LEFT_SECONDS]
        versions = [
            (item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in clusters
        ]
        made_of = head, versions, gone
        if self._worked_out is None or self._worked_out[0] != made_of:
            with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                root = Path(folder)
                fleet.write(self.world.repository.files(head), root)
                change = changes.inventory(root, clusters, gone)
                files = {
                    path: (root / path).read_bytes() if (root / path).is_file() else None
                    for path in change.files
                }
            self._worked_out = made_of, files
        return self._worked_out[1]

    def _notice_absence(self) -> None:
        now = world_loop().time()
        known = {
            path.removeprefix("clusters/").removesuffix(".yaml")
            for path in self.world.repository.read(git.MAIN)
            if path.startswith("clusters/") and path != f"clusters/{fleet.SET}.yaml"
        }
        here = {item["metadata"]["name"] for item in self.world.hub.of("managedclusters")}
        self._absent = {name: self._absent.get(name, now) for name in sorted(known - here)}

    def _is_offered(self, kind: str, files: Files) -> bool:
        """Whether it is offered, was refused, or cannot be offered because of what people
        pushed.
        """
        repository = self.world.repository
        for pull in reversed(self.world.forge.pulls):
            if pull.branch.startswith(f"{BRANCHES}{kind}-") and _has(repository, pull.sha, files):
                tip = repository.branches.get(pull.branch)
                if tip is not None and repository.commits[tip].author != AUTHOR:
                    return True
                return pull.state == "open" or _is_refused(pull)
        return False

    def _waits(self, kind: str) -> bool:
        """Whether the leader has pushed so lately that it need not push again."""
        last, leader = self._pushes.get(kind), self.world.leader
        return (
            last is not None
            and leader is not None
            and last.program is leader.program
            and world_loop().time() < last.at + last.pause + 180.0
        )

    # When to judge.

    def _is_quiet(self) -> bool:
        """Whether nothing is wrong that proposals depend on."""
        leader = self.world.leader
        return (
            leader is not None
            and not leader.program.frozen
            and self.world.is_fine
            and self.world.is_fine_for(leader)
        )

    def _is_fair(self, host: str) -> bool:
        return not any(weather.host == host for weather in self.world.storm.weather)

    def _count_check(self, law: str) -> None:
        self.world.laws.checks[law] += 1

    def _break(self, law: str, what: str) -> None:
        self.world.laws.breaks(law, what)


def _is_refused(pull: Pull) -> bool:
    """Whether people closed it."""
    return pull.state == "closed" and not pull.merged and CLOSED_BY_US not in pull.body


def _has(repository: git.Repository, commit: str, files: Files) -> bool:
    """Whether a commit has these files so."""
    if not files or commit not in repository.commits:
        return False
    there = repository.files(commit)
    return all(_same(there.get(path), content) for path, content in files.items()) and set(
        repository.changed(commit)
    ) == set(files)


def _same(one: bytes | None, other: bytes | None) -> bool:
    """Whether two YAML files say the same."""
    if one is None or other is None:
        return one is other
    return one == other or bool(yamlfast.load(one) == yamlfast.load(other))
