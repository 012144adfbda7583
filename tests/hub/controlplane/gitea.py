"""Gitea on 127.0.0.1 with SQLite in a folder: people and tokens by its own command line."""

import os
import subprocess
from pathlib import Path
from typing import Any, Final

import httpx

from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes, answering

ADMIN: Final = "somebody"
BOT: Final = "reconciler"
NAME: Final = "fleet"
PASSWORD: Final = "of-this-test-0"
SETTINGS: Final = """\
APP_DATA_PATH = {folder}/data
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
RUN_MODE = prod
RUN_USER = {user}
WORK_PATH = {folder}

[actions]
ENABLED = false

[api]
DEFAULT_PAGING_NUM = 5
MAX_RESPONSE_ITEMS = 5

[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db

[indexer]
ISSUE_INDEXER_TYPE = db

[log]
LEVEL = Warn
MODE = console

[repository]
ROOT = {folder}/repositories

[security]
INSTALL_LOCK = true
INTERNAL_TOKEN = of-this-test
SECRET_KEY = of-this-test

[server]
DISABLE_SSH = true
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
OFFLINE_MODE = true
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}

[service]
DISABLE_REGISTRATION = true
"""


class Gitea:
    """ADMIN owns the repository NAME, and BOT may write to it."""

    def __init__(self, *, binaries: Binaries, processes: Processes, folder: Path) -> None:
        self._program, self._settings = binaries.path("gitea"), folder / "app.ini"
        self._folder = folder
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        values = {"folder": folder, "port": port, "static": binaries.folder("templates").parent}
        user = subprocess.run(
            ["id", "-un"], capture_output=True, text=True, check=True
        ).stdout.strip()
        self._settings.write_text(SETTINGS.format(user=user, **values), encoding="utf-8")
        self.run("migrate")
        self.run("admin", "user", "create", "--admin", *self._person(ADMIN))
        self.run("admin", "user", "create", *self._person(BOT))
        command = [str(self._program), "web", "--config", str(self._settings)]
        self.process = processes.start(
            "gitea", command, environment=self._environment, folder=folder
        )
        processes.ready(self.process, answering(f"{self.url}/api/v1/version"))
        processes.check_listeners()
        everything = self.token(ADMIN, "all")
        self._signed = {"Authorization": f"token {everything}"}
        self.ask("POST", "/user/repos", {"name": NAME, "private": True, "default_branch": "main"})
        self.ask("PUT", f"/repos/{ADMIN}/{NAME}/collaborators/{BOT}", {"permission": "write"})
        address = self.url.replace("://", f"://{ADMIN}:{everything}@")
        self.repository = GitRepository(
            url=f"{self.url}/{ADMIN}/{NAME}.git",
            bare=folder / "repositories" / ADMIN / f"{NAME}.git",
            clone=folder / "clone",
        )
        git(
            "clone",
            "--quiet",
            f"{address}/{ADMIN}/{NAME}.git",
            str(folder / "clone"),
            folder=folder,
        )
        git("checkout", "--quiet", "-B", "main", folder=folder / "clone")

    def run(self, *words: str) -> str:
        """What Gitea's own command prints."""
        done = subprocess.run(
            [str(self._program), *words, "--config", str(self._settings)],
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def token(self, user: str, scopes: str) -> str:
        """A new token with these scopes and no other."""
        name = f"{scopes.replace(':', '-').replace(',', '-')}-{os.urandom(3).hex()}"
        words = ("--username", user, "--token-name", name, "--scopes", scopes, "--raw")
        return self.run("admin", "user", "generate-access-token", *words).split()[-1]

    def ask(self, method: str, path: str, data: Any = None) -> Any:
        """What ADMIN does by hand."""
        url = f"{self.url}/api/v1{path}"
        answer = httpx.request(method, url, json=data, headers=self._signed, timeout=30)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    @property
    def pulls(self) -> list[dict[str, Any]]:
        """Of the repository, newest first."""
        found: list[dict[str, Any]] = self.ask("GET", f"/repos/{ADMIN}/{NAME}/pulls?state=all")
        return found

    def close(self, number: int) -> None:
        self.ask("PATCH", f"/repos/{ADMIN}/{NAME}/pulls/{number}", {"state": "closed"})

    def merge(self, number: int) -> None:
        self.ask("POST", f"/repos/{ADMIN}/{NAME}/pulls/{number}/merge", {"Do": "merge"})

    def comment(self, number: int, text: str) -> None:
        self.ask("POST", f"/repos/{ADMIN}/{NAME}/issues/{number}/comments", {"body": text})

    def comments(self, number: int) -> list[tuple[str, str]]:
        """Who wrote what, oldest first."""
        found = self.ask("GET", f"/repos/{ADMIN}/{NAME}/issues/{number}/comments")
        return [(each["user"]["login"], each["body"]) for each in found]

    @property
    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "GITEA_WORK_DIR": str(self._folder),
        }

    @staticmethod
    def _person(name: str) -> tuple[str, ...]:
        mail = f"{name}@example.com"
        words = ("--username", name, "--password", PASSWORD, "--email", mail)
        return (*words, "--must-change-password=false")
