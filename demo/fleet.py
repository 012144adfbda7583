"""The git repository of the demo. It is edited with the commands that people would type."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from demo.history import Command
from demo.programs import Stop
from gitops_dsf.errors import GitopsDsfError

CONTENT: Final = Path(__file__).with_name("repository")
BRANCH: Final = "main"
REGISTRY: Final = "registry.example.com"
"""The registry of images that no pod of the demo starts: its agents are processes."""
GIT_URL: Final = "https://git.example.com/demo/fleet.git"
SCORING_APIS: Final = Path(__file__).with_name("scoringapis")
"""Scorers that are added in the course of the demo."""
_REPLACED: Final = ("apps", "clusters", "config", "locks", "scorers", "tests")
COMMAND_SECONDS: Final = 60
# -P, because -m puts the current folder first in sys.path: a file of the fleet, such as
# yaml.py, would be imported in place of a module.
PRODUCT: Final = (sys.executable, "-P", "-m", "gitops_dsf")
"""The `gitops-dsf` command of this installation."""

# The user's hooks, signing and garbage collection must not change what the demo shows.
_GIT_SETTINGS: Final = (
    *("-c", "user.name=Platform Team"),
    *("-c", "user.email=platform@example.com"),
    # A signature may ask for a passphrase, and the demo has no one to type it.
    *("-c", "commit.gpgSign=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    # git starts it in the background, where it could outlive the demo.
    *("-c", "gc.auto=0"),
)


class FleetClone:
    """A clone of a fleet repository, and the commands that a person runs in it.

    It ignores the user's git configuration: no hooks, no signing, no other default branch.

    Every method raises GitopsDsfError when a command fails, and StoppedError after a signal.
    """

    def __init__(self, root: Path, *, stop: Stop) -> None:
        self.root = root
        self._stop = stop

    def create(self) -> list[Command]:
        """Runs `gitops-dsf init` and makes the first commit."""
        options = ("--registry", REGISTRY, "--git-url", GIT_URL)
        init = self._run(
            [*PRODUCT, "init", str(self.root), "--name", "demo-fleet", *options],
            shown=f"gitops-dsf init fleet --name demo-fleet {' '.join(options)}",
            at=self.root.parent,
        )
        git = [
            # `git init --initial-branch` needs git 2.28; this is the same on every git.
            self.git("init", "--quiet"),
            self.git("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}"),
        ]
        return [init, *git, *self.commit("Start the fleet with gitops-dsf init")]

    def fill(self) -> Command:
        """Replaces the example clusters, scorers and applications with the demo's."""
        # A file that is only deleted counts as lost (docs/reference/generator.md#guards).
        removed = self.git("rm", "-r", "--quiet", "--ignore-unmatch", *_REPLACED)
        shutil.copytree(CONTENT, self.root, dirs_exist_ok=True)
        return removed

    def add_scoring_apis(self) -> None:
        """Adds the scorers of the scoring APIs."""
        shutil.copytree(SCORING_APIS, self.root / "scorers", dirs_exist_ok=True)

    def edit(self, path: str, before: str, after: str) -> None:
        """Replaces text that appears exactly once in a file. Raises GitopsDsfError otherwise."""
        file = self.root / path
        text = file.read_text("utf-8")
        if text.count(before) != 1:
            raise GitopsDsfError(f"{file} does not hold {before!r} once")
        file.write_text(text.replace(before, after), "utf-8")

    def show(self, path: str) -> Command:
        """The text of a file, as `cat` shows it."""
        return Command(text=f"cat {path}", output=(self.root / path).read_text("utf-8"))

    def product(self, *arguments: str, expect: int = 0) -> Command:
        """Runs `gitops-dsf` in the repository.

        Raises GitopsDsfError when it ends with another code.
        """
        return self._run(
            [*PRODUCT, *arguments],
            shown=shlex.join(["gitops-dsf", *arguments]),
            at=self.root,
            expect=expect,
        )

    def git(self, *arguments: str) -> Command:
        """Runs `git` in the repository. Raises GitopsDsfError when it fails."""
        return self._run(
            ["git", *_GIT_SETTINGS, *arguments], shown=shlex.join(["git", *arguments]), at=self.root
        )

    def commit(self, message: str) -> list[Command]:
        """Commits everything."""
        return [self.git("add", "--all"), self.git("commit", "--quiet", "--message", message)]

    def head(self) -> str:
        """The short ID of the last commit."""
        return self.git("rev-parse", "--short", "HEAD").output.strip()

    def works(self) -> dict[str, Path]:
        """The rendered ManifestWorks by cluster."""
        works: dict[str, Path] = {}
        for path in sorted(self.root.glob("rendered/works-*/*.manifestwork.yaml")):
            works[path.name.removesuffix(".manifestwork.yaml")] = path
        return works

    def _run(self, command: list[str], *, shown: str, at: Path, expect: int = 0) -> Command:
        environment: dict[str, str] = {}
        for name, value in os.environ.items():
            # In a hook of git, GIT_DIR and GIT_INDEX_FILE name the repository of the hook.
            if not name.startswith("GIT_"):
                environment[name] = value
        environment |= {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            # The narrator has a style of its own for the output of commands.
            "NO_COLOR": "1",
        }
        try:
            ran = subprocess.run(
                command,
                cwd=at,
                env=environment,
                # A command that asks must fail and not wait: its question would be shown too late.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                # Findings are on stdout and their number on stderr: a terminal shows them together.
                stderr=subprocess.STDOUT,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise GitopsDsfError(f"{shown}: {error}") from error
        # A terminal also sends Ctrl-C to this command. Then its exit code says nothing about the
        # repository.
        self._stop.check()
        if ran.returncode != expect:
            raise GitopsDsfError(
                f"`{shown}` in {at} ended with {ran.returncode}, not"
                f" {expect}:\n{ran.stdout.rstrip()}"
            )
        return Command(text=shown, output=ran.stdout)
