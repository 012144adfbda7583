"""Images: the same files give the same bytes, nothing of the machine is in them, and they start what the
Containerfiles start.
"""

import gzip
import hashlib
import importlib
import io
import json
import os
import re
import tarfile
import tomllib
from pathlib import Path

import pytest

from dsf_agent.configuration import settings
from gitops_dsf.render.containers import METRICS_PORT
from tools.images import __main__ as command
from tools.images import debian, environment, oci, program, sbom
from tools.images.errors import ImageError
from tools.images.recipe import AGENT, CLI, IMAGES, RECONCILER, Image

ROOT = Path(__file__).parents[3]
EPOCH = 1_700_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Files as a build leaves them: a program, a link and a folder for temporary files."""
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/program").write_bytes(b"#!/bin/true\n")
    (root / "usr/bin/program").chmod(0o700)
    (root / "usr/data").write_bytes(b"data")
    (root / "usr/data").chmod(0o600)
    (root / "bin").symlink_to("usr/bin")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    return root


def archive(root: Path, target: Path) -> bytes:
    oci.write_archive(
        target,
        layers=[oci.layer(root, epoch=EPOCH)],
        config={"User": "65532:65532"},
        architecture="amd64",
        created="2023-11-14T22:13:20Z",
        epoch=EPOCH,
        reference="1.0.0",
    )
    return target.read_bytes()


def test_an_archive_depends_on_names_and_contents_only(root: Path, tmp_path: Path) -> None:
    first = archive(root, tmp_path / "first.tar")
    os.utime(root / "usr/data", (1, 1))
    again = root / "usr/bin/program"
    content = again.read_bytes()
    again.unlink()
    again.write_bytes(content)
    again.chmod(0o755)
    assert archive(root, tmp_path / "second.tar") == first
    (root / "usr/data").write_bytes(b"other")
    assert archive(root, tmp_path / "third.tar") != first


def test_files_belong_to_root_and_everybody_may_read_them(root: Path) -> None:
    packed = gzip.decompress(oci.layer(root, epoch=EPOCH).content)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        entries = {entry.name: entry for entry in tar}
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries.values()} == {(0, 0, EPOCH)}
    assert {entry.uname for entry in entries.values()} == {""}
    modes = {name: entry.mode for name, entry in entries.items()}
    assert modes["usr/bin/program"] == 0o755
    assert modes["usr/data"] == 0o644
    assert modes["tmp"] == 0o1777
    assert entries["bin"].issym()
    assert entries["bin"].linkname == "usr/bin"


def test_the_archive_is_an_oci_layout_whose_digests_are_true(root: Path, tmp_path: Path) -> None:
    archive(root, tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    blobs = {name.rpartition("/")[2]: content for name, content in files.items() if name.startswith("blobs/")}
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in blobs.items())
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["annotations"]["org.opencontainers.image.ref.name"] == "1.0.0"
    manifest = json.loads(blobs[entry["digest"].removeprefix("sha256:")])
    config = json.loads(blobs[manifest["config"]["digest"].removeprefix("sha256:")])
    (layer,) = manifest["layers"]
    plain = gzip.decompress(blobs[layer["digest"].removeprefix("sha256:")])
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(plain).hexdigest()}"]
    assert config["config"] == {"User": "65532:65532"}


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_the_program_is_a_script_of_its_distribution(image: Image) -> None:
    path = {"gitops-dsf-agent": "agent/pyproject.toml", "gitops-dsf": "pyproject.toml"}[image.project]
    project = tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]
    assert project["name"] == image.project
    assert project["scripts"][image.script] == image.entry_point
    module, _, function = image.entry_point.partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    assert set(image.extras) <= set(project.get("optional-dependencies", {}))


@pytest.mark.parametrize(("image", "file"), [(AGENT, "agent"), (RECONCILER, "reconciler")])
def test_it_starts_what_the_containerfile_starts(image: Image, file: str) -> None:
    config = command._config(image, "1.0.0")
    text = (ROOT / f"images/{file}.Containerfile").read_text(encoding="utf-8")
    for name, key in (("ENTRYPOINT", "Entrypoint"), ("CMD", "Cmd")):
        (written,) = re.findall(rf"^{name} (.+)$", text, re.MULTILINE)
        assert json.loads(written) == config[key]
    assert f"USER {config['User']}\n" in text
    assert f"EXPOSE {image.port}\n" in text
    (variables,) = re.findall(r"^ENV (PYTHONDONTWRITEBYTECODE=.+)$", text, re.MULTILINE)
    assert set(variables.split()) <= set(config["Env"])  # type: ignore[call-overload]


def test_the_containerfile_of_the_command_line_starts_a_shell_command() -> None:
    config = command._config(CLI, "1.0.0")
    text = (ROOT / "images/cli.Containerfile").read_text(encoding="utf-8")
    assert "\nENTRYPOINT" not in text
    assert f"\nCMD {json.dumps(config['Cmd'])}\n" in text
    assert f"USER {config['User']}\n" in text
    assert f"PATH=/{CLI.folder}/bin:" in text
    assert all(f"--extra {extra}" in text for extra in CLI.extras)


def test_the_containerfile_of_the_command_line_is_like_the_reconcilers() -> None:
    """The same base, installer, sources and steps."""
    cli, reconciler = (
        (ROOT / f"images/{folder}.Containerfile").read_text(encoding="utf-8")
        for folder in ("cli", "reconciler")
    )
    different = (
        "#",
        "LABEL",
        "      org.",
        "RUN uv export",
        " && uv pip install",
        "ENV",
        "EXPOSE",
        "ENTRY",
        "CMD",
    )
    same = [
        [line for line in text.splitlines() if not line.startswith(different)] for text in (cli, reconciler)
    ]
    assert same[0] == same[1]
    assert len(same[0]) > 25


def test_the_agent_listens_on_the_port_of_its_image() -> None:
    flags = settings.parser().parse_args([*AGENT.command, "--cluster-name", "c", "--publish", "dir:x"])
    read = settings.read(flags, {})
    assert read.metrics_address.port == AGENT.port == METRICS_PORT


def test_only_images_that_need_a_shell_have_one() -> None:
    """The agent starts no program. git needs a shell for ssh, and pipelines run scripts."""
    assert not {"dash", "bash", "busybox"} & set(AGENT.packages)
    assert "busybox" not in RECONCILER.packages
    assert {"dash", "busybox"} <= set(CLI.packages)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("usr/lib/x86_64-linux-gnu/libssl.so.3", True),
        ("usr/lib/python3.11/asyncio/tasks.py", True),
        ("usr/lib/python3.11/unittest/mock.py", True),
        ("usr/lib/python3.11/lib-dynload/_asyncio.cpython-311-x86_64-linux-gnu.so", True),
        ("usr/lib/python3.11/lib-dynload/_sqlite3.cpython-311-x86_64-linux-gnu.so", False),
        ("usr/share/doc/libc6/copyright", True),
        ("usr/share/doc/libc6/changelog.Debian.gz", False),
        ("usr/share/locale/de/LC_MESSAGES/git.mo", False),
        ("usr/lib/x86_64-linux-gnu/gconv/EUC-JP.so", False),
        ("usr/lib/git-core/git-remote-http", True),
        ("usr/bin/ssh", True),
        ("usr/bin/ssh-keygen", False),
        ("etc/init.d/something", False),
    ],
)
def test_what_is_left_out(path: str, kept: bool) -> None:
    assert (debian._UNUSED.match(path) is None) == kept


def test_another_distribution_is_told_what_to_do_instead(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(debian, "CODENAME", "no-such-release")
    assert command.main(["agent", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "Debian 12" in said
    assert "images/agent.Containerfile" in said


def test_an_unknown_image_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["hub"])
    assert "no image 'hub'; there are agent, reconciler, cli" in capsys.readouterr().err


def test_the_time_of_the_sources_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12")
    assert command.source_date() == 12


def test_the_bill_names_packages_and_distributions(tmp_path: Path) -> None:
    information = tmp_path / "ruamel_yaml-0.19.1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Name: ruamel.yaml\nVersion: 0.19.1\nLicense-Expression: MIT\n\nText"
    )
    package = debian.Package(
        name="libstdc++6", version="1:12.2+b1", architecture="amd64", control="", archive=tmp_path / "x.deb"
    )
    document = json.loads(
        sbom.bill(
            name="image",
            version="1.0.0",
            digest="sha256:00",
            created="2023-11-14T22:13:20Z",
            packages=[package],
            libraries=tmp_path,
        )
    )
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["purl"] == "pkg:oci/image@sha256%3A00"
    debian_package, distribution = document["components"]
    assert debian_package["purl"] == "pkg:deb/debian/libstdc%2B%2B6@1%3A12.2%2Bb1?arch=amd64&distro=bookworm"
    assert distribution["purl"] == "pkg:pypi/ruamel.yaml@0.19.1"
    assert distribution["licenses"] == [{"expression": "MIT"}]


def test_records_of_the_installer_name_no_file_that_is_gone(tmp_path: Path) -> None:
    """Scripts of libraries have the path of this machine's Python in them."""
    information = tmp_path / "thing-1.dist-info"
    information.mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/thing").write_text("#!/home/somebody/python")
    (tmp_path / "thing.py").write_text("")
    (information / "direct_url.json").write_text("{}")
    (information / "RECORD").write_text(
        "thing.py,,\nbin/thing,sha256=x,1\nthing-1.dist-info/direct_url.json,,\n"
    )
    environment._tidy(tmp_path)
    assert not (tmp_path / "bin").exists()
    assert (information / "RECORD").read_text() == "thing.py,,\n"


@pytest.mark.parametrize(
    ("machine", "loader", "emulator"),
    [
        ("x86_64", "ld-linux-x86-64.so.2", None),
        ("aarch64", "ld-linux-aarch64.so.1", None),
        ("x86_64", "ld-linux-aarch64.so.1", "qemu-aarch64-static"),
        ("aarch64", "ld-linux-x86-64.so.2", "qemu-x86_64-static"),
    ],
)
def test_programs_of_another_architecture_run_in_an_emulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, loader: str, emulator: str | None
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    file = tmp_path / "usr/lib/some-linux-gnu" / loader
    file.parent.mkdir(parents=True)
    file.touch()
    words = program.command(tmp_path, "/usr/bin/python3.11", "-c", "")
    assert words[: words.index(str(file))] == ([f"/usr/bin/{emulator}"] if emulator else [])
    assert words[-4:] == [str(file.parent), "/usr/bin/python3.11", "-c", ""]
    monkeypatch.setattr("shutil.which", lambda _: None)
    if emulator:
        with pytest.raises(ImageError, match="apt-get install qemu-user-static"):
            program.command(tmp_path, "/usr/bin/python3.11")


def test_apt_must_know_the_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"--print-architecture": "amd64\n", "--print-foreign-architectures": "i386\n"}
    monkeypatch.setattr(debian, "_run", lambda command: known[command[1]])
    debian.require_architecture("amd64")
    with pytest.raises(ImageError, match="dpkg --add-architecture arm64 && apt-get update"):
        debian.require_architecture("arm64")
