"""Which program the hub suite takes, and what it says when none can be had. Builds nothing."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.hub.controlplane.binaries import BinaryError, main, obtain
from tests.hub.controlplane.family import FamilyError, family_names, load_family, parse_version
from tests.hub.controlplane.golang import GoError, find_go, go_directive

PROGRAMS = {
    "etcd": "3.6.5",
    "kubectl": "1.36.0",
    "kube-apiserver": "1.36.0",
    "kube-controller-manager": "1.36.0",
}


def program(folder: Path, name: str, version: str) -> Path:
    """A program that answers every question with its version."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho 'Kubernetes v{version}'\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def environment(tmp_path: Path, **more: str) -> Mapping[str, str]:
    return {"GITOPS_DSF_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", **more}


def no_report(_: str) -> None:
    return None


def test_programs_of_a_named_directory_win(tmp_path: Path) -> None:
    for name, version in PROGRAMS.items():
        program(tmp_path / "assets", name, version)
        program(tmp_path / "path", name, "9.9.9")
    found = obtain(
        "kubernetes",
        environment=environment(
            tmp_path, KUBEBUILDER_ASSETS=str(tmp_path / "assets"), PATH=str(tmp_path / "path")
        ),
        report=no_report,
    )
    assert {one.origin for one in found.programs.values()} == {"KUBEBUILDER_ASSETS"}
    assert found.path("kubectl") == tmp_path / "assets" / "kubectl"


def test_programs_on_path_are_taken_when_new_enough(tmp_path: Path) -> None:
    for name, version in PROGRAMS.items():
        program(tmp_path / "path", name, version)
    found = obtain(
        "kubernetes", environment=environment(tmp_path, PATH=str(tmp_path / "path")), report=no_report
    )
    assert {one.origin for one in found.programs.values()} == {"PATH"}


def test_an_old_program_in_a_named_directory_is_an_error_not_a_surprise(tmp_path: Path) -> None:
    program(tmp_path / "assets", "etcd", "3.4.1")
    with pytest.raises(
        BinaryError, match=r"etcd is 3\.4\.1, but 3\.5\.21 or newer is needed\. Point KUBEBUILDER_ASSETS"
    ):
        obtain(
            "kubernetes",
            environment=environment(tmp_path, KUBEBUILDER_ASSETS=str(tmp_path / "assets")),
            report=no_report,
        )


def test_an_old_program_on_path_is_passed_over_aloud(tmp_path: Path) -> None:
    for name, version in PROGRAMS.items():
        program(tmp_path / "assets", name, version)
    (tmp_path / "assets" / "kubectl").unlink()
    old = program(tmp_path / "path", "kubectl", "1.32.4")
    given = environment(tmp_path, KUBEBUILDER_ASSETS=str(tmp_path / "assets"), PATH=str(tmp_path / "path"))
    cached = load_family("kubernetes").cache(given) / "bin" / "kubectl"
    program(cached.parent, "kubectl", "1.35.4")
    said: list[str] = []
    assert obtain("kubernetes", environment=given, report=said.append).path("kubectl") == cached
    assert said == [f"kubectl: {old} is 1.32.4, 1.34.0 is needed; not used"]


def test_path_is_not_looked_at_when_told_so(tmp_path: Path) -> None:
    given = environment(tmp_path, PATH=str(tmp_path / "path"), GITOPS_DSF_HUB_PATH="0")
    home = load_family("kubernetes").cache(given) / "bin"
    for name, version in PROGRAMS.items():
        program(tmp_path / "path", name, version)
        program(home, name, version)
    found = obtain("kubernetes", environment=given, report=no_report)
    assert {one.path.parent for one in found.programs.values()} == {home}


def test_a_failed_build_says_what_failed_and_what_helps(tmp_path: Path) -> None:
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text(
        '#!/bin/sh\ncase "$1" in\nenv) echo go1.99.0;;\nlist) echo v1.35.4;;\n'
        "build) echo 'dial tcp: no route to host' >&2; exit 1;;\nesac\n",
        encoding="utf-8",
    )
    go.chmod(0o755)
    said: list[str] = []
    path = f"{go.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    given = environment(tmp_path, PATH=path, GITOPS_DSF_HUB_PATH="0")
    with pytest.raises(GoError) as caught:
        obtain("kubernetes", environment=given, report=said.append)
    message = str(caught.value)
    assert message.startswith(
        "kubernetes: building etcd, kubectl, kube-apiserver, kube-controller-manager failed after 0 s: go"
        " build in tests/hub ended with 1"
    )
    assert "dial tcp: no route to host" in message
    assert "What helps: a network path to GOPROXY" in message
    assert said[0] == "kubernetes: building etcd, kubectl, kube-apiserver, kube-controller-manager"
    home = load_family("kubernetes").cache(given)
    assert not (home / "bin").exists()
    assert not list(home.glob(".building-*"))


def test_a_go_that_is_too_old_is_named(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.19.4\n", encoding="utf-8")
    go.chmod(0o755)
    with pytest.raises(
        GoError, match=r"Go 99\.0\.0 or newer is needed: .*/go is 1\.19\.4.*Put a newer Go on PATH"
    ):
        find_go(
            needed=(99, 0, 0),
            environment={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            report=no_report,
            install=False,
        )


def test_every_family_is_complete_and_buildable_by_the_pinned_go() -> None:
    assert {"argocd", "kubernetes", "ocm", "prometheus"} <= set(family_names())
    for name in family_names():
        family = load_family(name)
        assert family.programs or family.data
    assert go_directive() <= parse_version("1.26.6")


def test_a_family_with_a_go_mod_of_its_own_is_built_there(tmp_path: Path) -> None:
    family = load_family("consumers")
    assert family.modules == family.folder
    assert load_family("ocm").modules == family.folder.parent
    module = tmp_path / "module"
    for rule in family.data:
        (module / rule.folder).mkdir(parents=True)
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text(
        "#!/bin/sh\n"
        f'echo "$1 $PWD" >> {tmp_path}/calls\n'
        f'case "$1" in\nenv) echo go1.99.0;;\nlist) echo {module};;\nesac\n',
        encoding="utf-8",
    )
    go.chmod(0o755)
    path = f"{go.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    found = obtain("consumers", environment=environment(tmp_path, PATH=path), report=no_report)
    assert set(found.folders) == {"kueue", "policies"}
    calls = [line.split() for line in (tmp_path / "calls").read_text(encoding="utf-8").splitlines()]
    assert {folder for verb, folder in calls if verb != "env"} == {str(family.folder)}


def test_a_wrong_family_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        FamilyError, match=r"family 'nope': tests/hub/nope/family\.toml does not exist; families are: argocd"
    ):
        load_family("nope")
    assert main(["--family", "nope"]) == 1
    assert capsys.readouterr().err.startswith("error: family 'nope'")


def test_one_call_of_go_builds_all_that_is_missing(tmp_path: Path) -> None:
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >> {tmp_path}/calls\n'
        'case "$1" in\nenv) echo go1.99.0;;\nlist) echo v1.35.4;;\n'
        "build)\n"
        '  while [ "$1" != -o ]; do shift; done\n'
        '  for name in server kube-apiserver kube-controller-manager; do touch "$2$name"; done;;\n'
        "esac\n",
        encoding="utf-8",
    )
    go.chmod(0o755)
    path = f"{go.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    given = environment(tmp_path, PATH=path, GITOPS_DSF_HUB_PATH="0")
    home = load_family("kubernetes").cache(given) / "bin"
    there = program(home, "kubectl", "1.36.0")
    found = obtain("kubernetes", environment=given, report=no_report)
    assert {name: one.path for name, one in found.programs.items()} == {
        name: home / name for name in PROGRAMS
    }
    assert there.read_text(encoding="utf-8").startswith("#!/bin/sh")
    builds = [
        line
        for line in (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
        if line.startswith("build ")
    ]
    (build,) = builds
    assert build.endswith(
        "/ go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/kube-apiserver"
        " k8s.io/kubernetes/cmd/kube-controller-manager"
    )
    assert not list(home.parent.glob(".building-*"))
