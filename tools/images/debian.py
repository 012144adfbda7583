"""The part of an image that comes from Debian packages: extracted, without a package manager.

Maintainer scripts do not run. What they would have made and the programs need is written here: the bundle of
certificate authorities, users, and the record of packages that vulnerability scanners read.
"""

import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.images import program
from tools.images.errors import ImageError
from tools.images.recipe import CODENAME, USER

_MERGED: Final = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into /usr."""
_UNUSED: Final = re.compile(
    r"""
      usr/share/(?!ca-certificates/|common-licenses/|git-core/|zoneinfo/|doc/[^/]+/copyright$)
    | usr/share/git-core/contrib/
    | usr/lib/(locale|mime|systemd|tmpfiles\.d|valgrind)/
    | usr/lib/[^/]+/(gconv|audit|krb5|sasl2|engines-3|ossl-modules/(?!legacy))
    | usr/lib/python3\.11/(lib2to3|pydoc_data|test|ensurepip|idlelib|turtledemo|tkinter|venv)/
    | usr/lib/python3\.11/turtle\.py$
    | usr/lib/python3\.11/lib-dynload/(_sqlite3|_dbm|_curses|_curses_panel|_crypt|nis|readline
          |ossaudiodev|_test|_xxtest|_ctypes_test|xxlimited)
    | usr/lib/git-core/(git-(cvs|svn|p4|send-email|instaweb|archimport|gui|citool|daemon|http-backend
          |imap-send|shell|web--browse|add--interactive|filter-branch)|scalar)
    | usr/lib/openssh/(ssh-keysign|ssh-pkcs11-helper|ssh-sk-helper|agent-launch)
    | usr/bin/(scalar|scp|sftp|ssh-(add|agent|argv0|copy-id|keygen|keyscan)|slogin|pygettext|pydoc)
    | usr/sbin/
    | etc/(?!ssh/ssh_config$)
    | var/
    | (home|root|boot|mnt|media|srv|opt|proc|sys|run|dev)(/|$)
    """,
    re.VERBOSE,
)
"""What no program of ours reads: documentation, locales, tools for people, and modules whose libraries are
left out.
"""


@dataclass(frozen=True, kw_only=True)
class Package:
    """A Debian package. `control` is its control paragraph, `archive` the .deb file."""

    name: str
    version: str
    architecture: str
    control: str
    archive: Path


def require_debian() -> None:
    """ImageError on another distribution than the one whose packages the images are made of."""
    path = Path("/etc/os-release")
    release = path.read_text(encoding="utf-8") if path.exists() else ""
    if f"VERSION_CODENAME={CODENAME}\n" not in release or shutil.which("apt-get") is None:
        raise ImageError(
            f"make images takes packages from the apt of Debian 12 ({CODENAME}). Run it there, or build"
            " images/agent.Containerfile and images/reconciler.Containerfile, which start from a public"
            " Python image."
        )


def architecture() -> str:
    """Debian's name of the architecture of this machine, such as amd64. Images have the same names."""
    return _run(["dpkg", "--print-architecture"]).strip()


def require_architecture(wanted: str) -> None:
    """ImageError when apt does not know the packages of an architecture."""
    known = _run(["dpkg", "--print-foreign-architectures"]).split()
    if wanted not in {architecture(), *known}:
        raise ImageError(
            f"apt does not know packages for {wanted}. Run, as root:"
            f" dpkg --add-architecture {wanted} && apt-get update"
        )


def download(names: Iterable[str], *, architecture: str, cache: Path) -> list[Package]:
    """The packages in the versions that apt installs now, verified by apt."""
    cache.mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", "--option", f"APT::Architecture={architecture}"]
    wanted = sorted(set(names))
    with tempfile.TemporaryDirectory() as empty:  # of a file that is there, apt does not print the name
        uris = _run([*apt, "--print-uris", "download", *wanted], folder=Path(empty))
    files = [line.split()[1] for line in uris.splitlines() if line.startswith("'")]
    if missing := [file for file in files if not (cache / file).exists()]:
        _run([*apt, "--quiet", "download", *wanted], folder=cache)
        if absent := [file for file in missing if not (cache / file).exists()]:
            raise ImageError(f"apt-get download did not write {', '.join(absent)}")
    return sorted((_package(cache / file) for file in files), key=lambda package: package.name)


def extract(packages: Sequence[Package], root: Path) -> None:
    """Write the files of the packages below `root`, and what their scripts would have made."""
    root.mkdir(parents=True)
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in packages:
        with tarfile.open(
            fileobj=io.BytesIO(_bytes(["dpkg-deb", "--fsys-tarfile", str(package.archive)]))
        ) as tar:
            for member in tar:
                _extract(tar, member, root)
    _drop_empty(root)
    _complete(packages, root)


def add_shell(root: Path) -> None:
    """Links of busybox for the commands that a pipeline expects. The shell itself is dash."""
    applets = _run(program.command(root, str(root / "usr/bin/busybox"), "--list")).split()
    for applet in applets:
        if not any((root / "usr" / folder / applet).exists() for folder in ("bin", "sbin")):
            (root / "usr/bin" / applet).symlink_to("busybox")


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    path = member.name.removeprefix("./").rstrip("/")
    if path.partition("/")[0] in _MERGED:
        path = f"usr/{path}"
    if not path or member.isdir() or _UNUSED.match(path):
        return
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        target.unlink(missing_ok=True)
        target.symlink_to(member.linkname)
        return
    content = tar.extractfile(member)  # follows a hard link
    if content is None:
        raise ImageError(f"{member.name}: neither a file nor a link")
    with content, target.open("wb") as output:
        shutil.copyfileobj(content, output)
    target.chmod(0o755 if member.mode & 0o111 else 0o644)


def _complete(packages: Sequence[Package], root: Path) -> None:
    etc = root / "etc"
    etc.mkdir(exist_ok=True)
    (etc / "os-release").symlink_to("../usr/lib/os-release")
    (etc / "passwd").write_text(
        f"root:x:0:0:root:/root:/usr/sbin/nologin\ngitops-dsf:x:{USER}:{USER}::/tmp:/usr/sbin/nologin\n",
        encoding="ascii",
    )
    (etc / "group").write_text(f"root:x:0:\ngitops-dsf:x:{USER}:\n", encoding="ascii")
    (etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n", encoding="ascii")
    authorities = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    bundle = etc / "ssl/certs/ca-certificates.crt"
    bundle.parent.mkdir(parents=True)
    bundle.write_bytes(b"".join(path.read_bytes() for path in authorities))
    (root / "usr/lib/ssl").mkdir(exist_ok=True)
    for name, target in (("certs", "/etc/ssl/certs"), ("cert.pem", "/etc/ssl/certs/ca-certificates.crt")):
        link = root / "usr/lib/ssl" / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    shutil.rmtree(root / "usr/share/ca-certificates")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    status = root / "var/lib/dpkg/status.d"
    status.mkdir(parents=True)
    for package in packages:
        (status / package.name).write_text(package.control, encoding="utf-8")


def _drop_empty(root: Path) -> None:
    for folder, _, _ in os.walk(root, topdown=False):
        path = Path(folder)
        if not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()


def _package(archive: Path) -> Package:
    control = _run(["dpkg-deb", "--field", str(archive)])
    fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", control, re.MULTILINE))
    return Package(
        name=fields["Package"],
        version=fields["Version"],
        architecture=fields["Architecture"],
        control=control,
        archive=archive,
    )


def _run(command: Sequence[str], *, folder: Path | None = None) -> str:
    return _bytes(command, folder=folder).decode("utf-8")


def _bytes(command: Sequence[str], *, folder: Path | None = None) -> bytes:
    with tempfile.TemporaryFile() as errors:
        answer = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, check=False)
        if answer.returncode != 0:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip()[-1000:]
            raise ImageError(f"{' '.join(command[:3])} ended with {answer.returncode}: {said}")
    return answer.stdout
