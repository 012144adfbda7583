"""An image registry on 127.0.0.1, and images pushed to it."""

import shutil
import ssl
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml

from tests.hub.controlplane.pki import Authority
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes, answering, lacking


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
        trust, scheme = ssl.create_default_context(), "http"
        if self.issuer is not None:
            scheme = "https"
            trust.load_verify_locations(cadata=self.issuer.pair.certificate.decode("ascii"))
        status = 200 if self.users is None else 401
        url = f"{scheme}://{self.authority}/v2/"
        self.processes.ready(process, answering(url, trust=trust, statuses=(status,)))
        return self

    def __exit__(self, *_: object) -> None:
        self.processes.stop("registry")

    def push(self, archive: Path, name: str) -> str:
        """Push an OCI archive as `name:tag`; the full name of the image."""
        image = f"{self.authority}/{name}"
        command = ["skopeo", "--insecure-policy", "copy", "--quiet", "--dest-tls-verify=false"]
        places = [f"oci-archive:{archive}", f"docker://{image}"]
        answer = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise AssertionError(f"skopeo copy {archive.name}: {answer.stdout}{answer.stderr}")
        return image


def missing() -> str | None:
    """Why no registry can run here, or None."""
    return lacking("a registry needs", ("docker-registry", "skopeo"), "docker-registry skopeo")
