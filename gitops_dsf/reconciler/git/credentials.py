"""Credentials from the folder of a mounted Secret.

Git reads the files itself, so no argument, variable or URL holds a secret.

| files | used for |
| --- | --- |
| `token`, and `username` if the forge needs a certain one | http and https; a token alone goes with the name x-access-token |
| `username` and `password` | http and https |
| `ca.crt` | https: certificates to trust instead of the system's |
| `ssh-privatekey` and `known_hosts` | ssh; the keys of kubernetes.io/ssh-auth |

The files are read for each use, so a rotated Secret takes effect at once.
"""  # noqa: E501

import base64
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote, urlsplit

from dsf_runtime.calls import hide
from dsf_wire.secrettext import SecretFault, certificates, header_secret, line_secret, pem_secret
from gitops_dsf.errors import GitopsDsfError, UsageError

TOKEN_USER: Final = "x-access-token"  # noqa: S105 - a name, which GitHub and GitLab accept with any token
_SECRET_FILES: Final = ("token", "password")
_PEM_FILES: Final = ("ssh-privatekey", "known_hosts", "ca.crt")
"""Files of several lines, which git, ssh and TLS libraries read themselves."""

# `read` and `printf` are built into the shell, so no process gets a secret as an argument.
_HELPER: Final = (
    "!cr=$(printf '\\r'); mark=$(printf '\\357\\273\\277'); f() {{ "
    'test "$1" = get || exit 0; cd {folder} || exit 1; user={default_user}; '
    'if test -f username; then IFS= read -r user < username || test -n "$user" || exit 1; fi; '
    'IFS= read -r secret < {file} || test -n "$secret" || exit 1; '
    'user="${{user#$mark}}"; secret="${{secret#$mark}}"; '
    'printf \'username=%s\\npassword=%s\\n\' "${{user%$cr}}" "${{secret%$cr}}"; '
    "}}; f"
)


class GitError(GitopsDsfError):
    """Git or a worker did not do what was asked. The message holds no secret."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GitCredentials:
    """The folder of a mounted Secret, or None when the server needs no credentials."""

    folder: Path | None
    mended: Path | None = None
    """A folder with copies of files that git or ssh would refuse as they are."""

    @contextmanager
    def usable(self, *, scratch: Path) -> Iterator["GitCredentials"]:
        """These credentials, for one run of git.

        OpenSSH refuses a private key without a last line break, or with those of Windows, and a
        byte order mark hides a first line. Such a file is copied without that into `scratch` and
        read there, by this user alone, until the run ends. Raises GitError.
        """
        changed: dict[str, str] = {}
        for name in _PEM_FILES:
            text = self._mended_text(name)
            if text is not None:
                changed[name] = text
        if not changed:
            yield self
            return
        try:
            with TemporaryDirectory(dir=scratch, prefix="secret-") as name:
                for file, text in changed.items():
                    copy = Path(name, file)
                    copy.touch(mode=0o600)
                    copy.write_bytes(text.encode())
                yield replace(self, mended=Path(name))
        except OSError as error:
            raise GitError(f"{scratch} cannot be written: {error.strerror}") from error

    def _mended_text(self, name: str) -> str | None:
        """The content that a file should have; None if it has it or is missing. Raises GitError."""
        if not self._has(name):
            return None
        text = self._secret(name, read=certificates if name == "ca.crt" else pem_secret)
        return text if text.encode() != self._path(name).read_bytes() else None

    def _path(self, name: str) -> Path:
        if self.mended is not None and (self.mended / name).is_file():
            return self.mended / name
        return Path(self.folder or "", name).absolute()

    def settings(self, url: str) -> tuple[tuple[str, str], ...]:
        """Settings of git, without secrets.

        Raises GitError when the Secret lacks what the URL needs.
        """
        if is_ssh(url):
            return (("core.sshCommand", self._ssh_command()),)
        if self.folder is None or not is_http(url):
            return ()
        name = next((name for name in _SECRET_FILES if self._has(name)), None)
        if name is None or (name == "password" and not self._has("username")):
            msg = (
                f"{self.folder} has neither token nor username and password, which"
                f" {urlsplit(url).scheme} URLs need"
            )
            raise GitError(msg)
        # Read before git starts: of a file with several lines git would send the first one, and the
        # server would refuse it without a reason.
        for file in (name, "username"):
            if self._has(file):
                self._secret(file, read=line_secret)
        folder = self.folder.absolute()
        parts = urlsplit(url)
        helper = _HELPER.format(folder=shlex.quote(str(folder)), file=name, default_user=TOKEN_USER)
        # The empty helper clears the list. The origin in the name keeps the secret from other
        # servers.
        origin = f"{parts.scheme}://{parts.netloc}"
        helpers = (("credential.helper", ""), (f"credential.{origin}.helper", helper))
        if not self._has("ca.crt"):
            return helpers
        return (*helpers, ("http.sslCAInfo", str(self._path("ca.crt"))))

    def _ssh_command(self) -> str:
        if self.folder is None:
            raise GitError(
                "--git-credentials is not given; ssh URLs need ssh-privatekey and known_hosts"
            )
        if not (self._has("ssh-privatekey") and self._has("known_hosts")):
            raise GitError(
                f"{self.folder} lacks ssh-privatekey or known_hosts; ssh URLs need both files"
            )
        options = {
            "IdentityFile": self._path("ssh-privatekey"),
            "UserKnownHostsFile": self._path("known_hosts"),
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": 15,
        }
        # Ssh runs without the settings of the user who started the process. In a pod there is no
        # terminal to answer a question of ssh, so an unknown host is refused (BatchMode,
        # StrictHostKeyChecking).
        words = ["ssh", "-F", "/dev/null"]
        for name, value in options.items():
            words += ["-o", f'{name}="{value}"']
        return shlex.join(words)

    def token(self) -> str:
        """The token, for a forge's API. Raises GitError when there is none."""
        if not self._has("token"):
            if self.folder is None:
                raise GitError("--git-credentials is not given; pull requests need a token")
            raise GitError(f"{self.folder} has no token; pull requests need one")
        return self._secret("token", read=header_secret)

    def _secret(self, name: str, *, read: Callable[[bytes], str]) -> str:
        """A file of the Secret.

        Raises GitError if it cannot be sent: git would send its first line only.
        """
        path = Path(self.folder or "", name)
        try:
            return read(path.read_bytes())
        except OSError as error:
            raise GitError(f"{path} cannot be read: {error.strerror}") from error
        except SecretFault as fault:
            if name in _PEM_FILES:
                raise GitError(f"{path} {fault}") from None
            raise GitError(
                f"{path} {fault}; write the {name} alone into the Secret, on one line"
            ) from None

    @property
    def trust(self) -> str | None:
        """The certificates to trust instead of the system's. Raises GitError."""
        return self._secret("ca.crt", read=certificates) if self._has("ca.crt") else None

    def cleaned(self, text: str) -> str:
        """The text without the folder's secrets, in every form in which they may be repeated.

        Git or a server may repeat them encoded. Clean a text before you cut it: a secret that was
        cut short is not recognised.
        """
        return hide(text, *sorted(set(self._forms()), key=len, reverse=True))

    def _forms(self) -> Iterator[str]:
        user = next(iter(self._lines("username")), "")
        for secret in chain.from_iterable(map(self._lines, _SECRET_FILES)):
            yield from (secret, quote(secret, safe=""))
            for name in {user, TOKEN_USER}:
                yield base64.b64encode(f"{name}:{secret}".encode()).decode()

    def _has(self, name: str) -> bool:
        return self.folder is not None and (self.folder / name).is_file()

    def _lines(self, name: str) -> list[str]:
        """The lines of a file, without empty ones.

        A file of several lines is not sent, but it is hidden.
        """
        if self.folder is None:
            return []
        try:
            text = (self.folder / name).read_text(encoding="utf-8-sig", errors="replace")
        except OSError:
            return []
        return [line for line in text.splitlines() if line]


def is_http(url: str) -> bool:
    return url.startswith(("https://", "http://"))


def is_ssh(url: str) -> bool:
    return url.startswith("ssh://") or ("://" not in url and ":" in url)


def checked(url: str) -> str:
    """Returns the URL.

    Raises UsageError when it holds a password. The message does not repeat the URL.
    """
    if re.match(r"https?://[^/]*@|ssh://[^/@]*:[^/@]*@", url):
        msg = (
            "git.url holds a user or a password; write the URL without them, and put them into the"
            " Secret that reconciler.gitSecret names"
        )
        raise UsageError(msg)
    return url
