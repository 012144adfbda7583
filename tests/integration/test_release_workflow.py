"""Steps of the release workflows, run as they are written.

What is signed, what the provenance is about, and what the package index gets.

`tests/hub/test_publishing.py` runs the step that needs cosign and a registry. Here a stand-in
signs.
"""

import email
import hashlib
import io
import json
import os
import ssl
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.hub.controlplane.pki import Authority
from tests.support import yamlfast
from tests.support.commandline import output_of, program
from tests.support.threadserver import Handler, ThreadServer
from tools.release import ROOT

WORKFLOWS = ROOT / ".github/workflows"
OTHERS = ("gitops-dsf-agent-1.0-amd64.oci.tar", "gitops-dsf-schemas-1.0.tgz")
"""Files of a release that are not distributions of Python."""


def script(workflow: str, job: str, name: str) -> str:
    """The shell commands of a step."""
    jobs = yamlfast.load((WORKFLOWS / workflow).read_text("utf-8"))["jobs"]
    (commands,) = (step["run"] for step in jobs[job]["steps"] if step.get("name") == name)
    return str(commands)


def run(commands: str, folder: Path, **variables: str) -> None:
    """Runs commands as GitHub does, without pipefail, with the programs of the lock file."""
    path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), "/usr/bin:/bin"])
    environment = {"PATH": path, "HOME": str(folder), **variables}
    output_of("bash", "-e", "-c", commands, cwd=folder, environ=environment)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the job `provenance` downloads, and a stand-in for cosign, which writes the digest of
    what it signs.
    """
    for name in OTHERS:
        write(tmp_path / "dist" / name, name.encode())
    write(tmp_path / "image-sums", b"0" * 64 + b"  ghcr.io/team/gitops-dsf-agent\n")
    cosign = tmp_path / "bin/cosign"
    write(cosign, b'#!/bin/sh\n[ "$1 $2 $3" = "sign-blob --yes --bundle" ]\nsha256sum "$5" >"$4"\n')
    cosign.chmod(0o755)
    return tmp_path


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_the_sums_of_all_files_are_signed_and_the_provenance_is_about_files_and_images(
    folder: Path,
) -> None:
    run(
        script("build.yaml", "provenance", "Sign the sums, and list what the provenance is about"),
        folder,
    )
    sums = "".join(f"{digest(name.encode())}  {name}\n" for name in OTHERS)
    assert (folder / "SHA256SUMS").read_text("ascii") == sums
    signed = (folder / "SHA256SUMS.sigstore.json").read_text("ascii")
    assert signed == f"{digest(sums.encode())}  SHA256SUMS\n"
    images = f"{'0' * 64}  ghcr.io/team/gitops-dsf-agent\n"
    assert (folder / "subjects").read_text("ascii") == sums + images


def test_the_release_page_has_the_sums_their_signature_and_the_provenance(folder: Path) -> None:
    """And it is not made of files that differ from the sums."""
    write(folder / "bundle.json", b"the provenance")
    write(folder / "notes.txt", b"Notes")
    write(folder / "bin/gh", b'#!/bin/sh\necho "$@" >uploaded\n')
    (folder / "bin/gh").chmod(0o755)
    run(
        script("build.yaml", "provenance", "Sign the sums, and list what the provenance is about"),
        folder,
    )
    keep = script("build.yaml", "provenance", "Keep the provenance with the files that it is about")
    run(keep, folder, BUNDLE=str(folder / "bundle.json"))
    for path in (folder / "signed").iterdir():
        path.rename(folder / "dist" / path.name)
    publish = script("release.yaml", "page", "Check the sums, and publish all files")
    run(publish, folder, GITHUB_REF_NAME="v1.0")
    uploaded = (folder / "uploaded").read_text("utf-8").split()
    assert uploaded[:4] == ["release", "create", "v1.0", "--verify-tag"]
    files = {"SHA256SUMS", "SHA256SUMS.sigstore.json", "provenance.sigstore.json", *OTHERS}
    assert {word.removeprefix("dist/") for word in uploaded if word.startswith("dist/")} == files

    (folder / "uploaded").unlink()
    write(folder / "dist" / OTHERS[0], b"something else")
    done = program(
        *("bash", "-e", "-c", publish),
        cwd=folder,
        environ={"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "GITHUB_REF_NAME": "v1.0"},
    )
    assert done.returncode != 0
    assert f"{OTHERS[0]}: FAILED" in done.stdout
    assert not (folder / "uploaded").exists()


VERIFY_FILES = "Verify the sums, their signature, and the provenance of each file"
VERIFY_IMAGES = "Verify the signatures, the bills of materials and the provenance of the images"
RELEASE = {
    "GITHUB_ACTOR": "robot",
    "GITHUB_REF": "refs/tags/v1.0",
    "GITHUB_REF_NAME": "v1.0",
    "GITHUB_REPOSITORY": "Team/gitops-dsf",
    "GITHUB_REPOSITORY_OWNER": "Team",
    "GH_TOKEN": "a-token",
    "REGISTRY": "ghcr.io",
}
ISSUER = "--certificate-oidc-issuer https://token.actions.githubusercontent.com"
IDENTITY = (
    "--certificate-identity"
    " https://github.com/Team/gitops-dsf/.github/workflows/build.yaml@refs/tags/v1.0"
)
SIGNER = (
    "--repo Team/gitops-dsf --signer-workflow Team/gitops-dsf/.github/workflows/build.yaml"
    " --source-ref refs/tags/v1.0"
)


@pytest.fixture
def published(folder: Path) -> Path:
    """The release, and programs that write down what they are asked. They fail for a call that has
    the content of the file `refused` in it.
    """
    sums = "".join(f"{digest(name.encode())}  {name}\n" for name in OTHERS)
    write(folder / "dist/SHA256SUMS", sums.encode())
    for name in ("cosign", "gh"):
        stand_in = folder / "bin" / name
        write(
            stand_in,
            f'#!/bin/sh\necho "{name} $*" >>{folder}/asked\n'
            f'! echo "$*" | grep -q -f {folder}/refused\n'.encode(),
        )
        stand_in.chmod(0o755)
    write(folder / "refused", b"nothing of this\n")
    return folder


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text("utf-8").splitlines()


def test_every_file_is_verified_before_anything_is_published(published: Path) -> None:
    run(script("release.yaml", "verify", VERIFY_FILES), published, **RELEASE)
    bundle = "--bundle SHA256SUMS.sigstore.json"
    assert asked(published) == [
        f"cosign verify-blob SHA256SUMS {bundle} {ISSUER} {IDENTITY}",
        *(
            f"gh attestation verify {name} --bundle provenance.sigstore.json {SIGNER}"
            for name in OTHERS
        ),
    ]


def test_every_image_is_verified_before_anything_is_published(published: Path) -> None:
    run(script("release.yaml", "verify", VERIFY_IMAGES), published, **RELEASE)
    expected = ["cosign login --username robot --password-stdin ghcr.io"]
    for name in ("agent", "reconciler", "cli"):
        image = f"ghcr.io/team/gitops-dsf-{name}:1.0"
        expected += [
            f"cosign verify {ISSUER} {IDENTITY} {image}",
            f"gh attestation verify oci://{image} {SIGNER}",
            f"cosign verify-attestation {ISSUER} {IDENTITY} --type cyclonedx {image}-amd64",
            f"cosign verify-attestation {ISSUER} {IDENTITY} --type cyclonedx {image}-arm64",
        ]
    assert asked(published) == expected


@pytest.mark.parametrize(
    ("step", "refused"),
    [
        (VERIFY_FILES, "verify-blob"),
        (VERIFY_FILES, OTHERS[0]),
        (VERIFY_FILES, OTHERS[1]),
        (VERIFY_IMAGES, "verify --cert.*reconciler"),
        (VERIFY_IMAGES, "oci://.*agent"),
        (VERIFY_IMAGES, "cyclonedx .*cli:1.0-arm64"),
    ],
)
def test_what_does_not_verify_is_not_published(published: Path, step: str, refused: str) -> None:
    """Also in the middle of a loop."""
    write(published / "refused", f"{refused}\n".encode())
    with pytest.raises(AssertionError):
        run(script("release.yaml", "verify", step), published, **RELEASE)


class Index(ThreadServer):
    """A package index with trusted publishing, and the forge that vouches for its jobs."""

    def __init__(self) -> None:
        index = self
        self.uploads: dict[str, dict[str, str]] = {}
        """The fields of each upload, by the name of the file."""

        class IndexHandler(Handler):
            def serve(self) -> None:
                answers = {
                    "/forge/token": {"value": "identity"},
                    "/_/oidc/audience": {"audience": "pypi"},
                    "/_/oidc/mint-token": {"success": True, "token": "pypi-minted"},
                }
                media, body = self.headers.get("Content-Type", ""), self.body()
                if media.startswith("multipart/"):
                    fields = form(media, body)
                    index.uploads[fields.pop("content")] = fields
                answer = answers.get(urlsplit(self.path).path, {})
                self.send(200, json.dumps(answer).encode())

        super().__init__(IndexHandler)


def form(content_type: str, body: bytes) -> dict[str, str]:
    """The fields of a form; of a file its name."""
    message = email.message_from_bytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body
    )
    fields = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str):
            payload = part.get_payload(decode=True)
            assert isinstance(payload, bytes)
            fields[name] = part.get_filename() or payload.decode()
    return fields


@pytest.fixture
def authority() -> Authority:
    return Authority("authority of the index")


@pytest.fixture
def index(tmp_path: Path, authority: Authority) -> Iterator[Index]:
    """With TLS, without which uv asks for no token."""
    serving = Index()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.server("index").write(tmp_path, "index"))
    serving.serve_tls(context)
    with serving:
        yield serving


METADATA = "Metadata-Version: 2.4\nName: gitops-dsf\nVersion: 1.0\n"


def distributions(folder: Path) -> list[str]:
    """A wheel and an sdist with nothing in them but their metadata."""
    wheel = folder / "gitops_dsf-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gitops_dsf-1.0.dist-info/METADATA", METADATA)
        archive.writestr(
            "gitops_dsf-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
        )
        archive.writestr("gitops_dsf-1.0.dist-info/RECORD", "")
    sdist = folder / "gitops_dsf-1.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        member = tarfile.TarInfo("gitops_dsf-1.0/PKG-INFO")
        member.size = len(METADATA)
        archive.addfile(member, io.BytesIO(METADATA.encode()))
    return [wheel.name, sdist.name]


def test_the_index_gets_each_distribution_with_its_attestation_and_nothing_else(
    folder: Path, index: Index, authority: Authority
) -> None:
    """Attestations (PEP 740) lie beside the distributions, where the action before the step writes
    them.
    """
    names = distributions(folder / "dist")
    for name in names:
        attestation = {"version": 1, "envelope": {"statement": name}}
        write(folder / "dist" / f"{name}.publish.attestation", json.dumps(attestation).encode())
    run(
        script("release.yaml", "pypi", "Publish the distributions with their attestations"),
        folder,
        GITHUB_ACTIONS="true",
        ACTIONS_ID_TOKEN_REQUEST_URL=f"{index.url}/forge/token?a=b",
        ACTIONS_ID_TOKEN_REQUEST_TOKEN="a-token",
        UV_HTTP_RETRIES="0",
        UV_PUBLISH_URL=f"{index.url}/legacy/",
        SSL_CERT_FILE=str(authority.pair.write(folder, "authority")[0]),
    )
    assert sorted(index.uploads) == sorted(names)
    for name, fields in index.uploads.items():
        (attestation,) = json.loads(fields["attestations"])
        assert attestation["envelope"] == {"statement": name}
