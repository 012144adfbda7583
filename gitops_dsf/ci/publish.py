"""Renders a branch and pushes the result: beside the sources, or to a branch that only pipelines write.

It works in work trees of its own: the caller's files and branches are never touched. If another push was
faster, it renders again on top of it. It never forces a push.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from gitops_dsf.ci.environment import PUSH_TOKEN, PipelineError
from gitops_dsf.pipeline import check
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.model.repository import Output

ATTEMPTS: Final = 5
_NO_SUCH_REF: Final = 2
"""The exit code of `git ls-remote --exit-code`."""
HELPER: Final = (
    '!f() { test "$1" = get || exit 0; secret=$(printf %s "$'
    + PUSH_TOKEN
    + "\" | tr -d '\\r\\n\\357\\273\\277'); printf 'username=gitops-dsf\\npassword=%s\\n' \"$secret\"; }; f"
)
"""The token stays in its variable: it is no argument and in no file. A line break at its end and a byte order
mark are removed, as `secret_variable` does, which refuses others.
"""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What is published, and how."""

    directory: Path
    branch: str
    render: Callable[[Path, Path], bool]
    """Renders a fleet into a folder, and says whether that folder then holds nothing else."""
    say: Callable[[str], None]
    sleep: Callable[[float], None]
    push_url: str = ""
    dry_run: bool = False

    def run(self) -> bool:
        """Returns False when the sources have errors. Raises PipelineError when the push failed."""
        clone = Repository(directory=self.directory)
        for attempt in range(1, ATTEMPTS + 1):
            clone.run("fetch", "--quiet", "origin", f"refs/heads/{self.branch}")
            commit = clone.text("rev-parse", "FETCH_HEAD")
            with _work_tree(clone, commit) as sources:
                pushed = self._publish(clone, sources, commit[:10])
            if pushed is not None:
                return pushed
            if attempt < ATTEMPTS:
                self.sleep(attempt)
        raise PipelineError(
            f"could not push the rendering of {commit[:10]} in {ATTEMPTS} attempts; is this pipeline"
            " allowed to push?"
        )

    def _publish(self, clone: Repository, sources: Path, source: str) -> bool | None:
        """Returns whether there was something to publish without errors; None if the push was refused."""
        fleet = sources / clone.prefix
        resolved = check(fleet).resolved
        output = Output() if resolved is None else resolved.repository.spec.output
        if output.mode == "Directory":
            if not self.render(fleet, fleet / RENDERED):
                return False
            return self._commit_and_push(clone, fleet, self.branch, source)
        if output.branch == self.branch:
            raise PipelineError(
                f"spec.output.branch is {output.branch}, which people write: name another branch"
            )
        with _work_tree(clone, _start_of(clone, output.branch)) as tree:
            folder = tree / clone.prefix
            if not self.render(fleet, folder / RENDERED):
                return False
            return self._commit_and_push(clone, folder, output.branch, source)

    def _commit_and_push(self, clone: Repository, folder: Path, branch: str, source: str) -> bool | None:
        tree = Repository(directory=folder)
        tree.run("add", "--all", "--", RENDERED)
        if tree.attempt("diff", "--cached", "--quiet").returncode == 0:
            self.say(f"{RENDERED}/ on {branch} is up to date")
            return True
        tree.run(
            *_author(tree), "commit", "--quiet", "--no-verify", "--message", f"Render {source} [skip ci]"
        )
        if self.dry_run:
            self.say(tree.text("show", "--stat", f"--format=tformat:would push to {branch}:"))
            return True
        credentials = (
            ("-c", "credential.helper=", "-c", f"credential.helper={HELPER}") if self.push_url else ()
        )
        # From the clone, whose configuration has the credentials of the pipeline.
        pushed = f"{tree.text('rev-parse', 'HEAD')}:refs/heads/{branch}"
        done = clone.attempt(*credentials, "push", "--quiet", self.push_url or "origin", pushed)
        if done.returncode != 0:
            self.say(done.stderr.decode(errors="replace").strip())
            return None
        self.say(f"{RENDERED}/ on {branch} is now the rendering of {source}")
        return True


@contextmanager
def _work_tree(clone: Repository, commit: str) -> Iterator[Path]:
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        tree = Path(scratch) / "tree"
        try:
            clone.run("worktree", "add", "--quiet", "--detach", "--force", str(tree), commit)
            yield tree
        finally:
            clone.attempt("worktree", "remove", "--force", str(tree))


def _start_of(clone: Repository, branch: str) -> str:
    """The commit of the rendered branch, or a first one without the history of the sources."""
    found = clone.attempt("ls-remote", "--exit-code", "origin", f"refs/heads/{branch}")
    if found.returncode == 0:
        clone.run("fetch", "--quiet", "--depth=1", "origin", f"refs/heads/{branch}")
        return clone.text("rev-parse", "FETCH_HEAD")
    if found.returncode != _NO_SUCH_REF:
        raise RevisionError(
            f"cannot ask origin for {branch}: {found.stderr.decode(errors='replace').strip()}"
        )
    nothing = clone.run("hash-object", "-t", "tree", "-w", "--stdin").decode().strip()
    return clone.text(*_author(clone), "commit-tree", "-m", f"Begin {branch}", nothing)


def _author(repository: Repository) -> list[str]:
    """Arguments that name an author where git has none."""
    names = {"user.name": "gitops-dsf", "user.email": "gitops-dsf@users.noreply.invalid"}
    missing = {name: value for name, value in names.items() if not repository.attempt("config", name).stdout}
    return [word for name, value in missing.items() for word in ("-c", f"{name}={value}")]
