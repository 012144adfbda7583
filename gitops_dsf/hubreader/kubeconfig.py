"""Kubeconfigs of people, with exec plug-ins, auth providers and several files.

The package `kubernetes` reads them. It is imported only when a kubeconfig is read, because it needs
20 MB of memory and 0.2 s of CPU.

Guaranteed: messages never contain values of a kubeconfig, because one of them may be a token.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dsf_runtime import access
from dsf_runtime.calls import excerpt
from gitops_dsf.wording import names_text


@dataclass(frozen=True, kw_only=True)
class Kubeconfig:
    """A kubeconfig and one of its contexts; without them, those that kubectl would use."""

    path: Path | None = None
    context: str | None = None

    def load(self) -> access.Access:
        """Reads the credentials as they are now. Blocking. Raises AccessError."""
        files = _files(self.path)
        if not any(file.is_file() for file in files):
            raise access.AccessError(
                f"kubeconfig {files[0]} does not exist; name a file that does, or set KUBECONFIG"
            )
        try:
            return self._by_package(files)
        except yaml.YAMLError as error:
            mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
            if mark is None:
                raise access.AccessError(f"{self}: the kubeconfig is not YAML") from error
            raise access.AccessError(
                f"{self}: the kubeconfig is not YAML (line {mark.line + 1})"
            ) from error
        except (OSError, ValueError) as error:
            raise access.AccessError(f"{self}: {error}") from error
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            # The package reads fields without a check, so a malformed file ends as any of these.
            raise access.AccessError(
                f"{self}: the file does not have the structure of a kubeconfig; compare it with the"
                " output of kubectl config view"
            ) from error

    def __str__(self) -> str:
        """`kubeconfig PATH context NAME`, as far as they are named."""
        words = ["kubeconfig"]
        if self.path:
            words.append(str(self.path))
        if self.context:
            words.append(f"context {self.context}")
        return " ".join(words)

    def _by_package(self, files: list[Path]) -> access.Access:
        try:
            import kubernetes  # noqa: PLC0415 - see the module
        except ImportError as error:
            raise access.AccessError(
                "kubeconfigs need the extra live of gitops-dsf (docs/start/install.md). The"
                " reconciler's image does not have it: run it as a pod, without --kubeconfig and"
                " --context"
            ) from error
        package: Any = kubernetes
        configuration = package.client.Configuration()
        # The package fills in the proxy of the environment, and does not look at NO_PROXY.
        configuration.proxy = None
        # The package reads KUBECONFIG only once, when it is imported.
        source = os.pathsep.join(map(str, files))
        try:
            with _log_of_the_package() as failures:
                package.config.load_kube_config(
                    config_file=source,
                    context=self.context,
                    client_configuration=configuration,
                    # Nothing is written, not even a token that an auth provider has renewed.
                    persist_config=False,
                    # OpenSSL reads certificates from files, and a kubeconfig may have them inside.
                    temp_file_path=access.scratch(),
                )
        except package.config.ConfigException as error:
            # Only now, because the package reads the files again, and slowly.
            with suppress(package.config.ConfigException):
                merged = package.config.kube_config.KubeConfigMerger(source)
                self._check_context(merged.config.value)
            raise ValueError(error) from error
        if failures:
            raise ValueError(f"getting credentials: {failures[0]}")
        named = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
        read = [*files, *(Path(name) for name in named if name)]
        trust = access.tls_context(
            ca_file=configuration.ssl_ca_cert or None,
            verify=bool(configuration.verify_ssl),
            certificate=configuration.cert_file or None,
            key=configuration.key_file or None,
        )
        # Version 37 of the package sets BearerToken; earlier ones set authorization.
        keys = configuration.api_key
        authorization = keys.get("authorization") or keys.get("BearerToken")
        return access.make_access(
            host=str(configuration.host),
            trust=trust,
            authorization=access.authorization_header(authorization),
            server_name=configuration.tls_server_name,
            proxy=configuration.proxy,
            # When one of these files changes, the credentials are read again.
            seen={path: access.contents(path) for path in read},
        )

    def _check_context(self, config: Any) -> None:  # noqa: ANN401 - whatever YAML holds
        """Raises ValueError for an unknown context: the package's own message does not list any."""
        if not self.context:
            return
        names = [str(context["name"]) for context in config.get("contexts") or ()]
        if self.context not in names:
            contexts = names_text(names, max_names=10) or "none"
            raise ValueError(f"there is no context {self.context}, only {contexts}")


def _files(path: Path | None) -> list[Path]:
    """The files that kubectl would merge."""
    if path is not None:
        return [path]
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [Path(part).expanduser() for part in named or ["~/.kube/config"]]


@contextmanager
def _log_of_the_package() -> Iterator[list[str]]:
    """Collects what the package logs as an error, after which it goes on without credentials."""
    failures: list[str] = []
    thread = threading.get_ident()

    class ErrorHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # Other threads may log meanwhile, and their errors are not about the credentials.
            if record.levelno >= logging.ERROR and record.thread == thread:
                failures.append(_failure(record.getMessage(), sys.exc_info()[1]))

    root = logging.getLogger()
    handler = ErrorHandler()
    root.addHandler(handler)
    try:
        yield failures
    finally:
        root.removeHandler(handler)


def _failure(text: str, error: BaseException | None) -> str:
    """The message about an exec plug-in that cannot be started, in kubectl's words."""
    if isinstance(error, FileNotFoundError):
        return (
            f"exec: executable {error.filename} not found: install the credential plug-in that the"
            " kubeconfig names, or put it on PATH"
        )
    if isinstance(error, OSError):
        return f"exec: executable {error.filename} cannot be started: {error.strerror}"
    return excerpt(text)


def current_context(path: Path | None = None) -> str | None:
    """The current context that kubectl would use; None if there is none. Raises AccessError."""
    for file in _files(path):
        if path is None and not file.is_file():
            continue
        try:
            config = yaml.safe_load(file.read_bytes())
        except (OSError, yaml.YAMLError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not YAML"
            raise access.AccessError(f"kubeconfig {file} cannot be read: {reason}") from error
        # If several files name a current context, the first one counts, as for kubectl.
        context = config.get("current-context") if isinstance(config, dict) else None
        if isinstance(context, str) and context:
            return context
    return None
