"""Renders a branch and pushes the result.

It goes beside the sources, or to a branch that only pipelines write.

It goes beside the sources, or to a branch that only pipelines write.

It reads the sources from git's objects, and commits in a work tree of its own: the caller's files
and branches are never touched. If another push was faster, it renders again on top of it. It never
forces a push.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from gitops_dsf.ci.environment import PUSH_TOKEN, PipelineError
from gitops_dsf.diagnostics import Diagnostic, has_errors
from gitops_dsf.pipeline import check
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.git import SHORT, Repository, RevisionError
from gitops_dsf.repository.model.repository import Output
from gitops_dsf.repository.revision.checkout import Checkout, checkout

ATTEMPTS: Final = 5
_WHOLE: Final = ("-c", "core.sparseCheckout=false")
"""A work tree is otherwise as sparse as the clone that it belongs to."""
_NO_SUCH_REF: Final = 2
"""The exit code of `git ls-remote --exit-code`."""
HELPER: Final = (
    '!f() { test "$1" = get || exit 0; secret=$(printf %s "$'
    + PUSH_TOKEN
    + "\" | tr -d '\\r\\n\\357\\273\\277'); printf 'username=gitops-dsf\\npassword=%s\\n' \"$secret\"; }; f"
)
"""The token stays in its variable: it is no argument and in no file. A line break at its end and a
byte order mark are removed, as `secret_variable` does, which refuses others.
"""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What is published, and how."""

    directory: Path
    branch: str
    render: Callable[[Path], bool]
    """Renders a fleet into its folder RENDERED, and says whether that then holds nothing else."""
    report: Callable[[Sequence[Diagnostic]], None]
    """Shows findings because of which nothing is rendered."""
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
            # Not from a work tree, in which submodules are not filled, and which is as sparse as the clone.
            with checkout(clone, commit) as sources:
                pushed = self._publish(clone, sources, commit)
            if pushed is not None:
                return pushed
            if attempt < ATTEMPTS:
                self.sleep(attempt)
        raise PipelineError(
            f"could not push the rendering of {commit[:10]} in {ATTEMPTS} attempts; is this"
            " pipeline allowed to push?"
        )

    def _publish(self, clone: Repository, sources: Checkout, commit: str) -> bool | None:
        """Whether there was something to publish without errors; None if the push was refused."""
        checked = check(sources.root, also=sources.diagnostics)
        if has_errors(sources.diagnostics):
            self.report(checked.diagnostics)
            return False
        output = Output() if checked.fleet is None else checked.fleet.repository.spec.output
        start, branch = commit, self.branch
        if output.mode == "Branch":
            branch = output.branch
            if branch == self.branch:
                raise PipelineError(
                    f"spec.output.branch is {output.branch}, which people write: name another"
                    " branch"
                )
            start = _start_of(clone, branch)
        with _work_tree(clone, start) as tree:
            folder = tree / clone.prefix
            rendered = folder / RENDERED
            if rendered.is_symlink():
                raise PipelineError(
                    f"{RENDERED} on {branch} is a symbolic link, and nothing is written behind one;"
                    " remove it"
                )
            rendered.mkdir(parents=True, exist_ok=True)
            # So messages name rendered files as people see them in the repository.
            (sources.root / RENDERED).symlink_to(rendered)
            if not self.render(sources.root):
                return False
            return self._commit_and_push(clone, folder, branch, commit[:SHORT])

    def _commit_and_push(
        self, clone: Repository, folder: Path, branch: str, source: str
    ) -> bool | None:
        tree = Repository(directory=folder)
        tree.run(*_WHOLE, "add", "--all", "--", RENDERED)
        if tree.attempt("diff", "--cached", "--quiet").returncode == 0:
            self.say(f"{RENDERED}/ on {branch} is up to date")
            return True
        tree.run(
            *_author(tree),
            "commit",
            "--quiet",
            "--no-verify",
            "--message",
            f"Render {source} [skip ci]",
        )
        if self.dry_run:
            self.say(tree.text("show", "--stat", f"--format=tformat:would push to {branch}:"))
            return True
        credentials = (
            ("-c", "credential.helper=", "-c", f"credential.helper={HELPER}")
            if self.push_url
            else ()
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
            clone.run(
                *_WHOLE, "worktree", "add", "--quiet", "--detach", "--force", str(tree), commit
            )
            yield tree
        finally:
            clone.attempt("worktree", "remove", "--force", str(tree))


def _start_of(clone: Repository, branch: str) -> str:
    """The commit of the rendered branch, or a first one without the history of the sources."""
    found = clone.attempt("ls-remote", "--exit-code", "origin", f"refs/heads/{branch}")
    if found.returncode == 0:
        clone.run(
            "fetch", "--quiet", "--no-tags", *clone.as_shallow, "origin", f"refs/heads/{branch}"
        )
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
    missing = {
        name: value
        for name, value in names.items()
        if not repository.attempt("config", name).stdout
    }
    return [word for name, value in missing.items() for word in ("-c", f"{name}={value}")]
