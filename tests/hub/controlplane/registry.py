"""An image registry on 127.0.0.1, and images pushed to it."""

import shutil
import ssl
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

from tests.hub.controlplane.pki import Authority
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes

PROGRAMS = ("docker-registry", "skopeo")
PACKAGES = "docker-registry skopeo"


@dataclass(kw_only=True)
class Registry:
    """A context manager. `authority` is its `host:port`.

    With `issuer` it serves TLS. With `users`, lines of htpasswd, it asks for a password.
    """

    processes: Processes
    folder: Path
    issuer: Authority | None = None
    users: str | None = None
    authority: str = field(init=False)

    def __enter__(self) -> Self:
        self.authority = f"127.0.0.1:{free_port()}"
        self.folder.mkdir(parents=True)
        config = self.folder / "registry.yaml"
        settings: dict[str, Any] = {
            "version": 0.1,
            "storage": {"filesystem": {"rootdirectory": str(self.folder / "images")}},
            "http": {"addr": self.authority},
        }
        if self.issuer is not None:
            certificate, key = self.issuer.server("registry").write(self.folder, "registry")
            settings["http"]["tls"] = {"certificate": str(certificate), "key": str(key)}
        if self.users is not None:
            passwords = self.folder / "htpasswd"
            passwords.write_text(self.users, encoding="ascii")
            settings["auth"] = {"htpasswd": {"realm": "registry", "path": str(passwords)}}
        config.write_text(yaml.safe_dump(settings), encoding="utf-8")
        program = shutil.which("docker-registry") or "docker-registry"
        process = self.processes.start("registry", [program, "serve", config])
        self.processes.ready(process, self._answers)
        return self

    def __exit__(self, *_: object) -> None:
        self.processes.stop("registry")

    def push(self, archive: Path, name: str) -> str:
        """Push an OCI archive as `name:tag`; the full name of the image."""
        image = f"{self.authority}/{name}"
        answer = subprocess.run(
            [
                "skopeo",
                "--insecure-policy",
                "copy",
                "--quiet",
                "--dest-tls-verify=false",
                f"oci-archive:{archive}",
                f"docker://{image}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            raise AssertionError(f"skopeo copy {archive.name}: {answer.stdout}{answer.stderr}")
        return image

    def _answers(self) -> str | None:
        trust = ssl.create_default_context()
        if self.issuer is not None:
            trust.load_verify_locations(cadata=self.issuer.pair.certificate.decode("ascii"))
        scheme = "http" if self.issuer is None else "https"
        try:
            answer = httpx.get(f"{scheme}://{self.authority}/v2/", verify=trust, trust_env=False)
        except httpx.TransportError as error:
            return f"{type(error).__name__}: {error}"
        expected = 200 if self.users is None else 401
        return None if answer.status_code == expected else f"{answer.status_code}"


def missing() -> str | None:
    """Why no registry can run here, or None."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"a registry needs {', '.join(lacking)}: apt-get install {PACKAGES}" if lacking else None
