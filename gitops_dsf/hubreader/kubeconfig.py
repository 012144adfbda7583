"""Kubeconfigs of people, with whatever they hold: exec plug-ins, auth providers, several files.

The package ``kubernetes`` reads them. It is imported only then, because it needs 20 MB of memory
and 0.2 s of CPU. Messages never contain values of a kubeconfig, because one of them may be a token.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dsf_runtime import access
from dsf_runtime.calls import excerpt


@dataclass(frozen=True, kw_only=True)
class Kubeconfig:
    """A kubeconfig and one of its contexts; without them what kubectl would use."""

    path: Path | None = None
    context: str | None = None

    def load(self) -> access.Access:
        """Reads the credentials as they are now. Blocking. Raises AccessError."""
        files = _files(self.path)
        if not any(file.is_file() for file in files):
            msg = f"kubeconfig {files[0]} does not exist; name a file that does, or set KUBECONFIG"
            raise access.AccessError(msg)
        context = f" context {self.context}" if self.context else ""
        where = (f"kubeconfig {self.path}" if self.path else "kubeconfig") + context
        try:
            return self._by_package(files)
        except yaml.YAMLError as error:
            mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
            place = f" (line {mark.line + 1})" if mark is not None else ""
            msg = f"{where}: the kubeconfig is not YAML{place}"
            raise access.AccessError(msg) from error
        except (OSError, ValueError) as error:
            msg = f"{where}: {error}"
            raise access.AccessError(msg) from error
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise access.AccessError(
                f"{where}: the file does not have the structure of a kubeconfig; compare it with the"
                " output of kubectl config view"
            ) from error

    def _by_package(self, files: list[Path]) -> access.Access:
        try:
            import kubernetes  # noqa: PLC0415 - see the module
        except ImportError as error:
            msg = (
                "kubeconfigs need the extra live of gitops-dsf (docs/start/install.md). The"
                " reconciler's image does not have it: run it as a pod, without --kubeconfig and"
                " --context"
            )
            raise access.AccessError(msg) from error
        package: Any = kubernetes
        configuration = package.client.Configuration()
        configuration.proxy = None  # that of the environment, without a look at NO_PROXY
        # The package reads KUBECONFIG only once, when it is imported.
        source = os.pathsep.join(map(str, files))
        try:
            if self.context:
                self._check_context(
                    package.config.kube_config.KubeConfigMerger(source).config.value
                )
            with _log_of_the_package() as failures:
                package.config.load_kube_config(
                    config_file=source,
                    context=self.context,
                    client_configuration=configuration,
                    persist_config=False,
                    temp_file_path=access.scratch(),
                )
        except package.config.ConfigException as error:
            raise ValueError(error) from error
        if failures:
            raise ValueError(f"getting credentials: {failures[0]}")
        named = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
        trust = access.tls_context(
            ca_file=configuration.ssl_ca_cert or None,
            verify=bool(configuration.verify_ssl),
            certificate=configuration.cert_file or None,
            key=configuration.key_file or None,
        )
        authorization = configuration.api_key.get("authorization") or configuration.api_key.get(
            "BearerToken"
        )
        return access.make_access(
            host=str(configuration.host),
            trust=trust,
            authorization=access.authorization_header(authorization),
            server_name=configuration.tls_server_name,
            proxy=configuration.proxy,
            seen={
                path: access.contents(path)
                for path in (*files, *(Path(name) for name in named if name))
            },
        )

    def _check_context(self, config: Any) -> None:  # noqa: ANN401 - whatever YAML holds
        names = [str(item["name"]) for item in config.get("contexts") or ()]
        if self.context not in names:
            more = f" and {len(names) - 10} more" if len(names) > 10 else ""
            known = f"{', '.join(names[:10])}{more}" if names else "none"
            raise ValueError(f"there is no context {self.context}, only {known}")


def _files(path: Path | None) -> list[Path]:
    """The files that kubectl would merge."""
    if path is not None:
        return [path]
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [Path(part).expanduser() for part in named or ["~/.kube/config"]]


@contextmanager
def _log_of_the_package() -> Iterator[list[str]]:
    """What the package logs as an error, after which it goes on without credentials."""
    failures: list[str] = []
    thread = threading.get_ident()

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR and record.thread == thread:
                failures.append(_failure(record.getMessage(), sys.exc_info()[1]))

    root, kept = logging.getLogger(), Kept()
    root.addHandler(kept)
    try:
        yield failures
    finally:
        root.removeHandler(kept)


def _failure(text: str, error: BaseException | None) -> str:
    """Says in kubectl's words that an exec plug-in cannot be started."""
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
            msg = f"kubeconfig {file} cannot be read: {reason}"
            raise access.AccessError(msg) from error
        found = config.get("current-context") if isinstance(config, dict) else None
        if isinstance(found, str) and found:
            return found
    return None
