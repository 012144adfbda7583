"""What each image contains, and how its container starts."""

from dataclasses import dataclass
from typing import Final

CODENAME: Final = "bookworm"
"""The Debian release whose packages the images are made of. Its Python is 3.11."""
PYTHON: Final = "3.11"
USER: Final = 65532
MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""The architectures by their names in Debian, with those in names of wheels."""

_BASE: Final = (
    "base-files",
    "ca-certificates",
    "libbz2-1.0",
    "libc6",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libssl3",
    "libstdc++6",
    "libuuid1",
    "python3.11-minimal",
    "zlib1g",
)
_GIT: Final = (
    "dash",  # git starts ssh through a shell
    "git",
    "openssh-client",
    "libbrotli1",
    "libcom-err2",
    "libcurl3-gnutls",
    "libgmp10",
    "libgnutls30",
    "libgssapi-krb5-2",
    "libhogweed6",
    "libidn2-0",
    "libk5crypto3",
    "libkeyutils1",
    "libkrb5-3",
    "libkrb5support0",
    "libldap-2.5-0",
    "libnettle8",
    "libnghttp2-14",
    "libp11-kit0",
    "libpcre2-8-0",
    "libpsl5",
    "librtmp1",
    "libsasl2-2",
    "libselinux1",
    "libssh2-1",
    "libtasn1-6",
    "libunistring2",
    "libzstd1",
)


@dataclass(frozen=True, kw_only=True)
class Image:
    """One image. `project` is the distribution that it runs, `members` the folders of the wheels it needs."""

    name: str
    description: str
    packages: tuple[str, ...]
    project: str
    extras: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    """Distributions that are left out, with what only they need."""
    members: tuple[str, ...]
    folder: str
    script: str
    entry_point: str
    """Module and function of the script."""
    command: tuple[str, ...]
    entry: bool = True
    """Whether the script is the entry point. Pipelines start a shell instead."""
    port: int | None = 8080
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def program(self) -> str:
        return f"/{self.folder}/bin/{self.script}"


AGENT: Final = Image(
    name="gitops-dsf-agent",
    description="Metrics to scores to AddOnPlacementScores, on a managed cluster",
    packages=_BASE,
    project="gitops-dsf-agent",
    members=("packages/wire", "packages/runtime", "agent"),
    folder="opt/agent",
    script="gitops-dsf-agent",
    entry_point="dsf_agent.main:main",
    command=("run",),
    # Threads of the agent only compress and read files. Each further malloc arena would keep megabytes.
    environment=(("MALLOC_ARENA_MAX", "2"),),
)
RECONCILER: Final = Image(
    name="gitops-dsf-reconciler",
    description="Observes the hub and brings back to git what git cannot know",
    packages=(*_BASE, *_GIT),
    project="gitops-dsf",
    extras=("live",),
    without=("kubernetes",),  # 126 MB for credentials that a pod never has
    members=("packages/wire", "packages/scorer", "packages/runtime", "."),
    folder="opt/gitops-dsf",
    script="gitops-dsf",
    entry_point="gitops_dsf.__main__:main",
    command=("reconcile",),
)
CLI: Final = Image(
    name="gitops-dsf-cli",
    description="The command line, git and a shell, for pipelines",
    packages=(*_BASE, *_GIT, "busybox"),
    project="gitops-dsf",
    extras=("live", "backtest"),
    members=("packages/wire", "packages/scorer", "packages/runtime", "."),
    folder="opt/gitops-dsf",
    script="gitops-dsf",
    entry_point="gitops_dsf.__main__:main",
    command=("gitops-dsf", "--help"),
    entry=False,
    port=None,
)
IMAGES: Final = (AGENT, RECONCILER, CLI)
