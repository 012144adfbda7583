"""gitops-dsf install: what it checks first, what it applies, and what it waits for."""

import shutil
from pathlib import Path

import pytest

from gitops_dsf.cli.install import _lasting_findings
from gitops_dsf.cli.main import main
from gitops_dsf.schema.crd import crds
from gitops_dsf.views.doctor.finding import DoctorFinding, State
from tests.integration.installation.conftest import Run, Serve
from tests.support.apiserver import FakeApiServer
from tests.support.commandline import output_of
from tests.support.hubobjects import ARGOCD, HUB

APPLIED = [
    "PATCH ConfigMap argocd-cm",
    "PATCH AppProject gitops-dsf",
    "PATCH AppProject gitops-dsf-works",
    "PATCH ValidatingAdmissionPolicy gitops-dsf-applications",
    "PATCH ValidatingAdmissionPolicyBinding gitops-dsf-applications",
    "PATCH Application gitops-dsf-platform",
    "PATCH Application gitops-dsf-works-00",
    "PATCH Application gitops-dsf-delivery",
    "PATCH Application gitops-dsf-reconciler",
]


def test_it_applies_what_argocd_does_not_apply_itself(
    serve: Serve, run: Run, rendered: Path
) -> None:
    """A dry run before it and a second run after it change nothing."""
    hub = serve()
    told = run(hub, "install", rendered, "--dry-run")
    assert (told.returncode, hub.writes) == (0, [])
    assert "Application argocd/gitops-dsf-platform: would be created" in told.stdout
    done = run(hub, "install", rendered, "--no-wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert hub.writes == APPLIED
    assert "Application argocd/gitops-dsf-platform: created" in done.stdout
    health = hub.bodies["PATCH ConfigMap argocd-cm"]
    assert health["metadata"]["namespace"] == ARGOCD
    assert any(key.endswith("_ManifestWork") for key in health["data"])
    hub.writes.clear()
    again = run(hub, "install", rendered, "--no-wait")
    assert (again.returncode, hub.writes) == (0, [])
    assert again.stdout.count(": unchanged\n") == len(APPLIED)


def test_an_object_that_is_refused_keeps_the_others_off_the_hub(
    serve: Serve, run: Run, rendered: Path
) -> None:
    hub = serve()
    hub.refused = {"PATCH Application gitops-dsf-delivery": 403, "PATCH AppProject gitops-dsf": 403}
    done = run(hub, "install", rendered)
    assert (done.returncode, hub.writes) == (1, [])
    assert "nothing was changed" in done.stderr
    assert "AppProject argocd/gitops-dsf: context hub: PATCH" in done.stderr
    assert "Application argocd/gitops-dsf-delivery: context hub: PATCH" in done.stderr


@pytest.mark.parametrize(
    ("without", "words"),
    [
        ("argoproj.io", "Argo CD is not installed"),
        ("work.open-cluster-management.io", "does not serve work."),
    ],
)
def test_a_hub_that_lacks_something_is_not_touched(
    serve: Serve, run: Run, rendered: Path, without: str, words: str
) -> None:
    hub = serve(without=without)
    done = run(hub, "install", rendered)
    assert (done.returncode, hub.writes) == (1, [])
    assert words in done.stdout
    assert "nothing was changed: mend the errors first" in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("rendered/platform/README.md", None, ["run `gitops-dsf render`, commit and push"]),
        ("scorers/more.yaml", "kind: [", ["scorers/more.yaml:1", "nothing was installed"]),
    ],
)
def test_a_repository_that_is_stale_or_wrong_is_mended_first(
    serve: Serve,
    run: Run,
    rendered: Path,
    tmp_path: Path,
    file: str,
    text: str | None,
    words: list[str],
) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(rendered, folder)
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text, encoding="utf-8")
    hub = serve()
    done = run(hub, "install", folder)
    assert (done.returncode, hub.writes) == (1, [])
    assert [word for word in words if word not in done.stderr] == []


def test_another_url_is_written_and_rendered(
    serve: Serve, run: Run, rendered: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(rendered, folder)
    hub, url = serve(), "https://git.example.com/moved.git"
    before = (folder / "gitops-dsf.yaml").read_text("utf-8")
    told = run(hub, "install", folder, "--repo", url, "--dry-run")
    assert (told.returncode, hub.writes) == (0, [])
    assert f"spec.git.url would be set to {url}" in told.stdout
    assert (folder / "gitops-dsf.yaml").read_text("utf-8") == before
    done = run(hub, "install", folder, "--repo", url, "--no-wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"push them to {url}" in done.stdout
    after = (folder / "gitops-dsf.yaml").read_text("utf-8")
    assert after == before.replace("https://git.example.com/fleet.git", url)
    assert hub.bodies["PATCH Application gitops-dsf-platform"]["spec"]["source"]["repoURL"] == url
    assert run(hub, "render", folder, "--check").returncode == 2  # it takes no hub
    assert main(["render", str(folder), "--check"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--repo", "https://me:secret@git.example.com/fleet.git"], "holds credentials"),
        (["--timeout", "0"], "argument --timeout: '0' is not a whole number of seconds, 1 or more"),
        (["nowhere"], "nowhere is not a folder"),
    ],
)
def test_wrong_usage(
    rendered: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = [] if arguments == ["nowhere"] else [str(rendered)]
    assert main(["install", *folder, *arguments, "--context", "hub"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.usefixtures("hasty")
def test_what_is_missing_at_the_end_is_named(serve: Serve, run: Run, rendered: Path) -> None:
    hub = serve()
    settle(hub, rendered, run)
    applications = hub.items("/apis/argoproj.io/v1alpha1/applications")
    stuck = next(item for item in applications if item["metadata"]["name"] == "gitops-dsf-works-00")
    stuck["status"]["sync"]["status"] = "OutOfSync"
    stuck["status"]["conditions"] = [
        {"type": "SyncError", "message": 'namespaces "eu-1" not found'}
    ]
    done = run(hub, "install", rendered)
    assert done.returncode == 1
    assert "the loop does not run after 300 s" in done.stderr
    assert (
        'Application gitops-dsf-works-00: OutOfSync, Healthy: namespaces "eu-1" not found'
        in done.stderr
    )
    assert "Application gitops-dsf-platform: Synced" in done.stdout
    assert "reconciler: pod-a leads" in done.stdout


def finding(state: State) -> DoctorFinding:
    return DoctorFinding(check="applicationsets", state=state, message="not yet", fix="")


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("found", "looked", "last"),
    [
        ([State.OK], 1, State.OK),
        ([State.WARNING], 1, State.WARNING),
        ([State.ERROR, State.OK], 2, State.OK),
        ([State.ERROR] * 10, 2, State.ERROR),
    ],
)
def test_an_error_that_passes_is_none(
    capsys: pytest.CaptureFixture[str], found: list[State], looked: int, last: State
) -> None:
    asked: list[bool] = []

    def examine(first: bool) -> tuple[DoctorFinding, ...]:
        asked.append(first)
        return (finding(found[len(asked) - 1]),)

    assert _lasting_findings(examine) == (finding(last),)
    assert asked == [False] * looked
    assert ("may pass" in capsys.readouterr().out) is (looked > 1)


def git(folder: Path, *arguments: str) -> None:
    output_of("git", "-c", "init.defaultBranch=main", *arguments, cwd=folder)


@pytest.fixture
def clone(rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of an empty repository behind the URL of the fleet."""
    folder, remote = tmp_path / "clone", tmp_path / "remote.git"
    shutil.copytree(rendered, folder)
    remote.mkdir()
    git(remote, "init", "--bare")
    git(folder, "init")
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[url "{remote}"]\n insteadOf = https://git.example.com/fleet.git\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    return folder


def push(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "Render")
    git(folder, "push", "https://git.example.com/fleet.git", "HEAD:main")


def test_what_was_never_pushed_is_told_before_anything_waits(
    serve: Serve, run: Run, clone: Path
) -> None:
    hub = serve()
    done = run(hub, "install", clone)
    assert (done.returncode, hub.writes) == (1, [])
    assert (
        "https://git.example.com/fleet.git has no branch main: commit and push rendered/"
        in done.stderr
    )
    push(clone)
    shutil.move(clone / "rendered/delivery", clone / "elsewhere")
    git(clone, "commit", "-qam", "Without applications")
    git(clone, "push", "https://git.example.com/fleet.git", "HEAD:main")
    shutil.move(clone / "elsewhere", clone / "rendered/delivery")
    done = run(hub, "install", clone)
    assert (done.returncode, hub.writes) == (1, [])
    assert "has another rendered/ than this folder: commit and push it" in done.stderr
    done = run(hub, "install", clone, "--dry-run")
    assert done.returncode == 0
    assert "note: branch main" in done.stderr


@pytest.mark.usefixtures("hasty")
def test_what_was_pushed_is_installed(serve: Serve, run: Run, clone: Path) -> None:
    """Also from a clone that lacks the newest commit."""
    push(clone)
    hub = serve()
    settle(hub, clone, run)
    done = run(hub, "install", clone)
    assert done.returncode == 0
    assert "The loop runs. What doctor finds" in done.stdout
    assert "argocd-delivery" in done.stdout
    assert "note: " not in done.stderr
    git(clone, "commit", "--allow-empty", "-m", "Of a colleague")
    git(clone, "push", "https://git.example.com/fleet.git", "HEAD:main")
    shutil.rmtree(clone / ".git")
    git(clone, "init")
    done = run(hub, "install", clone)
    assert "The loop runs" in done.stdout
    assert (
        "has commits that this clone lacks, so rendered/ is not compared: git pull" in done.stderr
    )


def settle(hub: FakeApiServer, rendered: Path, run: Run) -> None:
    """Says what Argo CD and a reconciler would."""
    assert run(hub, "install", rendered, "--no-wait").returncode == 0
    for item in hub.items("/apis/argoproj.io/v1alpha1/applications"):
        if item["metadata"]["name"].startswith("gitops-dsf-"):
            sync = {"status": "Synced", "comparedTo": {"source": item["spec"]["source"]}}
            item["status"] = {"sync": sync, "health": {"status": "Healthy"}}
    established = [{"type": "Established", "status": "True"}]
    hub.serve(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        *[{**crd, "status": {"conditions": established}} for crd in crds()],
    )
    metadata = {"name": "gitops-dsf-reconciler", "namespace": HUB}
    pod = {"containers": [{"image": "registry.example.com/reconciler:1"}]}
    status = {"replicas": 2, "readyReplicas": 1}
    hub.serve(
        "/apis/apps/v1/deployments",
        {"metadata": metadata, "spec": {"template": {"spec": pod}}, "status": status},
    )
    lease = {
        "holderIdentity": "pod-a",
        "leaseDurationSeconds": 3600,
        "renewTime": "2999-01-01T00:00:00Z",
    }
    hub.serve("/apis/coordination.k8s.io/v1/leases", {"metadata": metadata, "spec": lease})
