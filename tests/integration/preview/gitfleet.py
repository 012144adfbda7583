"""A small fleet in a git repository, and the state of its hub.

Also a herd: twenty applications that are all on c1.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self
from unittest import mock

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.scores import score_of
from gitops_dsf.hub.snapshots.file_format import files
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.show.preview.document import preview_json
from gitops_dsf.show.preview.page import preview_comment, preview_text
from tests.support import fleets, rendering, yamlfast
from tests.support.commandline import gitops_dsf, output_of
from tests.support.kept import copied
from tests.support.outputs import check_output

SET = "cluster.open-cluster-management.io/clusterset"
FLEET = {
    "apiVersion": "cluster.open-cluster-management.io/v1beta2",
    "kind": "ManagedClusterSet",
    "metadata": {"name": "fleet"},
}
CLUSTERS = {"eu-1": "eu", "eu-2": "eu", "us-1": "us"}
VALUES = {"eu-1": 90, "eu-2": 60, "us-1": 20}
RANGE = {"min": 0, "max": 100}


def cluster(name: str, region: str) -> dict[str, Any]:
    labels = {SET: "fleet", "region": region}
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": labels},
    }


def scorer(name: str, *, query: str = "avg(up)", **spec: Any) -> dict[str, Any]:
    host, params = "http://api.scoring.svc:8000", {"query": query, "range": 600, "step": 60}
    base = {
        "description": name,
        "configURL": f"{host}/config",
        "source": {"type": "Prometheus", "host": "http://prometheus:9090", "params": params},
        "scoring": {"host": host, "params": {"name": name, "interval": 60}},
        "scoreRange": RANGE,
    }
    return rendering.scorer(name, **base | spec)


def application(
    name: str,
    *,
    scorers: Sequence[str] = ("cpu",),
    weight: int = 1,
    region: str | None = None,
    count: int = 1,
    **spec: Any,
) -> dict[str, Any]:
    placement: dict[str, Any] = {"numberOfClusters": count, "clusterSets": ["fleet"]}
    if region:
        placement["clusterSelector"] = {"matchLabels": {"region": region}}
    source = {"repoURL": "https://git.example.com/apps.git", "path": name, "targetRevision": "main"}
    base = {
        "application": {"source": source, "destinationNamespace": name},
        "placement": placement,
        "scores": [
            {"scorer": item} | ({} if weight == 1 else {"weight": weight}) for item in scorers
        ],
        "stickiness": 0,
    }
    return rendering.application(name, **base | spec)


class GitFleet:
    """A fleet repository at `path` in the git repository at `top`."""

    def __init__(self, top: Path, *, folder: str = "") -> None:
        self.top = top
        self.path = top / folder if folder else top
        copied(top, key=("fleet", folder), make=lambda made: self._begin(made, folder))

    @classmethod
    def rendered(cls, top: Path, *extra: Mapping[str, Any]) -> Self:
        """With more clusters, each in a file of its name, and with what that renders to."""

        def make(folder: Path) -> None:
            fleet = cls(folder)
            for one in extra:
                fleet.write(f"clusters/{one['metadata']['name']}.yaml", one)
            Run()("render", fleet.path)
            fleet.commit("rendered")
            fleet.pack()

        names = tuple(one["metadata"]["name"] for one in extra)
        copied(top, key=("rendered", names), make=make)
        return cls.at(top)

    @classmethod
    def at(cls, top: Path) -> Self:
        """One that exists."""
        fleet = cls.__new__(cls)
        fleet.top = fleet.path = top
        return fleet

    @classmethod
    def _begin(cls, top: Path, folder: str) -> None:
        self = cls.at(top)
        self.path = top / folder
        self.git("init", "--quiet", "--template=", "--initial-branch=main")
        self.write("gitops-dsf.yaml", settings())
        self.write("clusters/fleet.yaml", *(cluster(*item) for item in CLUSTERS.items()), FLEET)
        self.write("scorers/cpu.yaml", scorer("cpu"))
        self.write("apps/guestbook.yaml", application("guestbook"))
        self.commit("base")
        self.pack()

    def pack(self) -> None:
        """Leaves few files to copy."""
        self.git("repack", "-a", "-d", "-q")

    def write(self, name: str, *documents: Mapping[str, Any]) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yamlfast.dump(*map(dict, documents)))

    def remove(self, name: str) -> None:
        """Removes a file as people do."""
        self.git("rm", "--quiet", "--force", str((self.path / name).relative_to(self.top)))

    def prefer_low_scores(self, **spec: Any) -> None:
        """Lower is better from now on."""
        self.write("apps/guestbook.yaml", application("guestbook", weight=-1, **spec))

    def git(self, *arguments: str) -> str:
        return output_of(
            "git", "-c", "protocol.file.allow=always", *arguments, cwd=self.top
        ).strip()

    def allow_unmatched_selectors(self) -> None:
        self.write("gitops-dsf.yaml", settings(allowUnmatchedSelectors=True))

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        # Without git: most tests commit, and a process takes longer than to read two files.
        head = (self.top / ".git/HEAD").read_text().strip()
        branch = head.removeprefix("ref: ")
        return head if branch == head else (self.top / ".git" / branch).read_text().strip()


def settings(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "FleetRepository",
        "metadata": {"name": "fleet"},
        "spec": fleets.with_images({"git": {"url": "https://git.example.com/fleet.git"}, **spec}),
    }


def snapshot(
    *,
    values: Mapping[str, int] = VALUES,
    decided: Mapping[str, Sequence[str]] | None = None,
    age: timedelta = timedelta(minutes=5),
    resource: str = "cpu",
) -> Snapshot:
    """The hub's state: scores, and who is where."""
    seen = datetime.now(UTC).replace(microsecond=0) - age
    return Snapshot(
        origin="test",
        observed_at=seen,
        scores={
            resource: {
                name: score_of({resource: value}, valid_until=seen + timedelta(minutes=15))
                for name, value in values.items()
            }
        },
        decisions=tuple(
            decision_of(
                namespace="argocd",
                name=f"{name}-decision-1",
                placement=name,
                clusters=tuple(clusters),
            )
            for name, clusters in ({"guestbook": ["eu-1"]} if decided is None else decided).items()
        ),
    )


def save(state: Snapshot, folder: Path) -> Path:
    """Writes a snapshot as files and returns the folder."""
    for path, content in files(state, hub="test"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@dataclass(frozen=True, kw_only=True)
class Formats:
    """A preview as each option prints it."""

    comment: str
    """-o markdown"""
    text: str
    whole: str
    """--all"""
    preview: Any
    """-o json"""

    @property
    def comparison(self) -> Any:
        return self.preview["comparison"]


class Run:
    """Runs a verb and keeps what it told people."""

    err = ""

    def __call__(self, *arguments: str | Path, code: int = 0) -> str:
        """Standard output of a verb that must end with `code`."""
        done = gitops_dsf(*arguments)
        self.err = done.stderr
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *arguments: str | Path, code: int = 0) -> Any:
        return json.loads(self(*arguments, "-o", "json", code=code))

    def compared(
        self, fleet: GitFleet, *arguments: str | Path, base: str = "main", code: int = 0
    ) -> Any:
        """The comparison of the working tree with a base."""
        return self.json("diff", fleet.path, "--base", base, *arguments, code=code)["comparison"]

    def formats(self, fleet: GitFleet, *arguments: str | Path, base: str = "main") -> Formats:
        """What `diff` says of the working tree against a base in each format, of one run."""
        words = ("diff", fleet.path, "--base", base, *arguments)
        with mock.patch("gitops_dsf.cli.diff.preview_text", wraps=preview_text) as shown:
            text = self(*words)
        [call] = shown.call_args_list
        [preview], evidence = call.args, call.kwargs["evidence"]
        output = preview_json(preview)
        check_output(("diff", "-o", "json"), output)
        return Formats(
            comment=preview_comment(preview, evidence=evidence),
            text=text,
            whole=preview_text(preview, evidence=evidence, everything=True),
            preview=json.loads(output),
        )

    def shown(self, fleet: GitFleet, *arguments: str | Path) -> str:
        """What `diff` says of the working tree against main."""
        return self("diff", fleet.path, "--base", "main", *arguments)


HERD: Mapping[str, int] = {"c1": 40, "c2": 62, "c3": 58, "c4": 55}
NAMES = tuple(f"app-{number:02}" for number in range(20))
PACE = {"concurrent": 2, "arrivalsPerCluster": 1}


def herd_app(name: str, *, demand: int = 5, stickiness: int = 100, **spec: Any) -> dict[str, Any]:
    """An application that ranks by what is free."""
    found = application(name, **{"stickiness": stickiness, **spec})
    if demand:
        found["spec"]["scores"][0]["demand"] = demand
    return found


def herd_fleet(folder: Path, *, pace: Mapping[str, Any] | None = PACE, **app: Any) -> GitFleet:
    """The repository, committed."""

    def make(top: Path) -> None:
        fleet = GitFleet(top)
        fleet.write("gitops-dsf.yaml", settings(**({} if pace is None else {"pace": dict(pace)})))
        fleet.write("clusters/fleet.yaml", *(cluster(name, "eu") for name in HERD), FLEET)
        fleet.write("scorers/cpu.yaml", scorer("cpu"))
        fleet.write("apps/guestbook.yaml", *(herd_app(name, **app) for name in NAMES))
        fleet.commit("herd")
        fleet.pack()

    copied(folder, key=("herd", json.dumps([pace and dict(pace), app], sort_keys=True)), make=make)
    return GitFleet.at(folder)


def herd_hub(values: Mapping[str, int] = HERD, *, on: str = "c1") -> Snapshot:
    """The hub: all applications on one cluster."""
    return snapshot(values=values, decided={name: [on] for name in NAMES})
