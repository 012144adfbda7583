"""What a tag publishes.

The steps of the release workflow that push, sign and attest, run as written.

The registry is a real one with TLS and a password. Two things stand in for the public ones: the
images are small, and cosign signs with a key, because signatures without keys need a public
service.
"""

import base64
import hashlib
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hub.controlplane import registry
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.pki import Authority
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.registry import Registry
from tests.hub.scenario import realimages
from tools import version
from tools.release import IMAGES as NAMES
from tools.release import ROOT, bill

pytestmark = [pytest.mark.family("cosign")]

WORKFLOW = ROOT / ".github/workflows/build.yaml"
IMAGES_STEP = "Push, sign and attest the images"
SUMS_STEP = "Sign the sums, and list what the provenance is about"
VERSION = version.current(ROOT)
ARCHITECTURES = ("amd64", "arm64")
IMAGES = [f"gitops-dsf-{name}" for name in NAMES]
OWNER = "Team"
SIGNATURE = "https://sigstore.dev/cosign/sign/v1"
TOKEN = "a-token"
USERS = "robot:$2b$05$abcdefghijklmnopqrstuuSDjfNGgDV/jl2nooPoFmmqMrufqZfM6\n"
"""The line of htpasswd for TOKEN."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A registry after the step, and who may ask it."""

    place: str
    """Registry and owner."""
    folder: Path
    environment: dict[str, str]

    def run(self, *words: str) -> str:
        return run(words, folder=self.folder, environment=self.environment)

    def manifest(self, name: str) -> Any:
        return json.loads(self.run("skopeo", "inspect", "--raw", f"docker://{self.place}/{name}"))

    def digest(self, name: str) -> str:
        return self.run(
            "skopeo", "inspect", "--format", "{{.Digest}}", f"docker://{self.place}/{name}"
        ).strip()


def run(words: tuple[str, ...], *, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    if reason := registry.missing():
        pytest.skip(reason)
    if shutil.which("buildah") is None:
        pytest.skip("an index of images needs buildah: apt-get install buildah")
    folder = tmp_path_factory.mktemp("publishing")
    issuer = Authority("authority of the registry")
    processes = Processes(logs=folder / "logs")
    release(folder / "dist")
    with Registry(
        processes=processes, folder=folder / "registry", issuer=issuer, users=USERS
    ) as serving:
        environment = {
            "PATH": os.pathsep.join([str(programs(folder)), os.environ["PATH"]]),
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "SSL_CERT_FILE": str(issuer.pair.write(folder, "authority")[0]),
            "CONTAINERS_STORAGE_CONF": str(storage(folder)),
            "COSIGN_PASSWORD": "a-password",
            "REGISTRY": serving.authority,
            "TOKEN": TOKEN,
            "GITHUB_ACTOR": "robot",
            "GITHUB_REF_NAME": f"v{VERSION}",
            "GITHUB_REPOSITORY_OWNER": OWNER,
        }
        run(("cosign", "generate-key-pair"), folder=folder, environment=environment)
        # No service writes a log of signatures, and no service is trusted.
        for words in (("signing-config", "create"), ("trusted-root", "create")):
            target = str(folder / f"{words[0]}.json")
            run(("cosign", *words, "--out", target), folder=folder, environment=environment)
        for job, name in (("images", IMAGES_STEP), ("provenance", SUMS_STEP)):
            run(("bash", "-e", "-c", step(job, name)), folder=folder, environment=environment)
        place = f"{serving.authority}/{OWNER.lower()}"
        yield Published(place=place, folder=folder, environment=environment)
    left = processes.left_behind()
    assert not left, f"processes left behind: {left}"


def step(job: str, name: str) -> str:
    """The shell commands of a step of the workflow."""
    steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"][job]["steps"]
    (commands,) = (one["run"] for one in steps if one.get("name") == name)
    return str(commands)


def release(dist: Path) -> None:
    """What both jobs of the workflow build, but with nearly nothing in the images."""
    root = dist.with_name("root")
    for path in (dist, root):
        path.mkdir()
    (root / "Containerfile").write_text(
        "FROM scratch\nCOPY name /name\nUSER 65532:65532\n", encoding="utf-8"
    )
    for image in IMAGES:
        for architecture in ARCHITECTURES:
            (root / "name").write_text(f"{image} {architecture}", encoding="ascii")
            target = dist / f"{image}-{VERSION}-{architecture}"
            realimages.archive(root, Path(f"{target}.oci.tar"), architecture=architecture)
            listed = f"deb/debian base-files 12\npypi {image} {VERSION}"
            document = bill(image, VERSION, digest=architecture, epoch=0, packages=listed)
            Path(f"{target}.cdx.json").write_text(document, encoding="utf-8")


def programs(folder: Path) -> Path:
    """Cosign. What signs gets a key."""
    target = folder / "bin"
    target.mkdir()
    cosign = target / "cosign"
    cosign.write_text(
        f"""\
#!/bin/sh
verb=$1
case $verb in
sign | attest | sign-blob)
  shift
  set -- "$verb" --key {folder}/cosign.key --signing-config {folder}/signing-config.json \\
    --trusted-root {folder}/trusted-root.json "$@" ;;
esac
exec {obtain("cosign").path("cosign")} "$@"
""",
        encoding="utf-8",
    )
    cosign.chmod(0o755)
    return target


def storage(folder: Path) -> Path:
    """Where buildah keeps what it assembles."""
    target = folder / "storage.conf"
    target.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/storage"\nrunroot = "{folder}/run"\n',
        encoding="utf-8",
    )
    return target


def test_a_tag_has_an_image_for_each_architecture(published: Published) -> None:
    for image in IMAGES:
        index = published.manifest(f"{image}:{VERSION}")
        assert index["mediaType"] == "application/vnd.oci.image.index.v1+json"
        found = {one["platform"]["architecture"]: one["digest"] for one in index["manifests"]}
        assert found == {
            architecture: published.digest(f"{image}:{VERSION}-{architecture}")
            for architecture in ARCHITECTURES
        }
        assert {one["platform"]["os"] for one in index["manifests"]} == {"linux"}


def test_images_are_signed(published: Published) -> None:
    key = ("--key", "cosign.pub", "--insecure-ignore-tlog", "--output", "json")
    for image, suffix in itertools.product(IMAGES, ("", "-amd64", "-arm64")):
        name = f"{image}:{VERSION}{suffix}"
        found = json.loads(published.run("cosign", "verify", *key, f"{published.place}/{name}"))
        # cosign also lists what is attested.
        (signed,) = (one["critical"] for one in found if one["critical"]["type"] == SIGNATURE)
        assert signed["image"]["docker-manifest-digest"] == published.digest(name)


def test_the_bill_of_materials_is_attested(published: Published) -> None:
    key = ("--key", "cosign.pub", "--insecure-ignore-tlog", "--type", "cyclonedx")
    for image, architecture in itertools.product(IMAGES, ARCHITECTURES):
        name = f"{published.place}/{image}:{VERSION}-{architecture}"
        envelope = json.loads(published.run("cosign", "verify-attestation", *key, name))
        payload = base64.b64decode(envelope["payload"])
        bill = published.folder / f"dist/{image}-{VERSION}-{architecture}.cdx.json"
        assert json.loads(payload)["predicate"] == json.loads(bill.read_text(encoding="utf-8"))


def test_the_sums_are_signed(published: Published) -> None:
    check = ("cosign", "verify-blob", "--key", "cosign.pub", "--insecure-ignore-tlog")
    bundle = ("--bundle", "SHA256SUMS.sigstore.json")
    published.run(*check, *bundle, "SHA256SUMS")
    (published.folder / "forged").write_text("0" * 64 + "  gitops_dsf.whl\n", encoding="ascii")
    with pytest.raises(AssertionError):
        published.run(*check, *bundle, "forged")


def test_the_provenance_is_about_every_file_and_every_image(published: Published) -> None:
    """GitHub makes it of this list, and keeps it by digest."""
    lines = (published.folder / "subjects").read_text(encoding="ascii").splitlines()
    listed = {tuple(line.split("  ")) for line in lines}
    for path in (published.folder / "dist").iterdir():
        assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.name) in listed
    for image, suffix in itertools.product(IMAGES, ("", "-amd64", "-arm64")):
        digest = published.digest(f"{image}:{VERSION}{suffix}").removeprefix("sha256:")
        assert (digest, f"{published.place}/{image}") in listed


def test_nobody_pushes_without_the_password(published: Published) -> None:
    """Or the logins of the step would show nothing."""
    with pytest.raises(AssertionError, match=r"authentication required|unauthorized"):
        run(
            ("skopeo", "inspect", f"docker://{published.place}/gitops-dsf-agent:{VERSION}"),
            folder=published.folder,
            environment={
                **published.environment,
                "XDG_RUNTIME_DIR": "/nowhere",
                "HOME": "/nowhere",
            },
        )
