"""Renders a branch and pushes the result beside the sources, or to a branch of its own.

It reads the sources from git's objects, and commits in a work tree of its own: the caller's files
and branches are never touched. If another push was faster, it renders again on top of it. It never
forces a push, so commits of others are never lost.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from gitops_dsf.ci.run import PUSH_TOKEN, PipelineError
from gitops_dsf.diagnostics import Diagnostic, has_errors
from gitops_dsf.pipeline import CheckResult, check
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.git import SHORT, Repository, RevisionError
from gitops_dsf.repository.model.repository import Output
from gitops_dsf.repository.revision.checkout import Checkout, checkout

ATTEMPTS: Final = 5
_WHOLE_TREE: Final = ("-c", "core.sparseCheckout=false")
"""A work tree is otherwise as sparse as the clone that it belongs to."""
_NO_SUCH_REF: Final = 2
"""The exit code of `git ls-remote --exit-code`."""
HELPER: Final = (
    '!f() { test "$1" = get || exit 0; secret=$(printf %s "$'
    + PUSH_TOKEN
    + "\" | tr -d '\\r\\n\\357\\273\\277');"
    + " printf 'username=gitops-dsf\\npassword=%s\\n' \"$secret\"; }; f"
)
"""A credential helper of git, in the shell that git starts.

The token stays in its variable: it is not passed as an argument, and not written to a file. A line
break at its end and a byte order mark are removed, as `secret_variable` does, which refuses others.
"""
_AUTHOR: Final = {"user.name": "gitops-dsf", "user.email": "gitops-dsf@users.noreply.invalid"}
"""The author of commits where git has none."""


@dataclass(frozen=True, kw_only=True)
class PublishJob:
    """The job of publishing one branch."""

    directory: Path
    branch: str
    render: Callable[[Path, CheckResult], bool]
    """Renders a fleet that was checked into its folder RENDERED, and says whether that then holds
    nothing else.
    """
    report: Callable[[Sequence[Diagnostic]], None]
    """Shows findings because of which nothing is rendered."""
    log: Callable[[str], None]
    sleep: Callable[[float], None]
    push_url: str = ""
    dry_run: bool = False

    def run(self) -> bool:
        """Returns False when the sources have errors. Raises PipelineError when the push failed."""
        clone = Repository(directory=self.directory)
        for attempt in range(1, ATTEMPTS + 1):
            # The newest commit: the branch may have moved on since this pipeline started.
            clone.run("fetch", "--quiet", "origin", f"refs/heads/{self.branch}")
            asked = ("--show-prefix", "FETCH_HEAD")
            fleet, _, commit = clone.text("rev-parse", *asked).rpartition("\n")
            # From git's objects and not from a work tree, in which submodules are not filled, and
            # which is as sparse as the clone.
            with checkout(clone, commit) as sources:
                published = self._publish(clone, sources, commit, fleet)
            if published is not None:
                return published
            if attempt < ATTEMPTS:
                self.sleep(attempt)
        raise PipelineError(
            f"could not push the rendering of {commit[:10]} in {ATTEMPTS} attempts; is this"
            " pipeline allowed to push?"
        )

    def _publish(
        self, clone: Repository, sources: Checkout, commit: str, fleet: str
    ) -> bool | None:
        """Whether the rendering is on its branch; None if the push was refused.

        `fleet` is the folder of the fleet below the work tree. False if the sources have errors.
        """
        if has_errors(sources.diagnostics):
            self.report(check(sources.root, also=sources.diagnostics).diagnostics)
            return False
        checked = check(sources.root)
        branch = self._target(checked)
        start = commit if branch == self.branch else _start_of(clone, branch)
        with _work_tree(clone, start) as tree:
            folder = tree / fleet
            rendered = folder / RENDERED
            if rendered.is_symlink():
                raise PipelineError(
                    f"{RENDERED} on {branch} is a symbolic link, and nothing is written behind one;"
                    " remove it"
                )
            rendered.mkdir(parents=True, exist_ok=True)
            # So messages name rendered files as people see them in the repository.
            (sources.root / RENDERED).symlink_to(rendered)
            if not self.render(sources.root, checked):
                return False
            return self._commit_and_push(clone, folder, branch, commit[:SHORT])

    def _target(self, checked: CheckResult) -> str:
        """The branch that gets the rendering. Raises PipelineError if people write it."""
        output = Output() if checked.fleet is None else checked.fleet.repository.spec.output
        if output.mode != "Branch":
            return self.branch
        if output.branch == self.branch:
            raise PipelineError(
                f"spec.output.branch is {output.branch}, which people write: name another branch"
            )
        return output.branch

    def _commit_and_push(
        self, clone: Repository, folder: Path, branch: str, source: str
    ) -> bool | None:
        """True if the branch has the rendering; None if the push was refused."""
        tree = Repository(directory=folder)
        tree.run(*_WHOLE_TREE, "add", "--all", "--", RENDERED)
        if tree.attempt("diff", "--cached", "--quiet").returncode == 0:
            self.log(f"{RENDERED}/ on {branch} is up to date")
            return True
        # With [skip ci] no forge starts a pipeline for this commit.
        # Hooks of the clone are for people who commit (--no-verify).
        message = f"Render {source} [skip ci]"
        tree.run(*_author(tree), "commit", "--quiet", "--no-verify", "--message", message)
        if self.dry_run:
            self.log(tree.text("show", "--stat", f"--format=tformat:would push to {branch}:"))
            return True
        credentials: tuple[str, ...] = ()
        if self.push_url:
            # The empty helper removes those that the clone has.
            credentials = ("-c", "credential.helper=", "-c", f"credential.helper={HELPER}")
        # From the clone, whose configuration has the credentials of the pipeline.
        pushed = f"{tree.text('rev-parse', 'HEAD')}:refs/heads/{branch}"
        push = clone.attempt(*credentials, "push", "--quiet", self.push_url or "origin", pushed)
        if push.returncode != 0:
            self.log(push.stderr.decode(errors="replace").strip())
            return None
        self.log(f"{RENDERED}/ on {branch} is now the rendering of {source}")
        return True


@contextmanager
def _work_tree(clone: Repository, commit: str) -> Iterator[Path]:
    """A whole work tree of a commit, which is removed at the end."""
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        tree = Path(scratch) / "tree"
        add = ("worktree", "add", "--quiet", "--detach", "--force", str(tree), commit)
        try:
            clone.run(*_WHOLE_TREE, *add)
            yield tree
        finally:
            clone.attempt("worktree", "remove", "--force", str(tree))


def _start_of(clone: Repository, branch: str) -> str:
    """The commit of the rendered branch, or a first one without the history of the sources."""
    listed = clone.attempt("ls-remote", "--exit-code", "origin", f"refs/heads/{branch}")
    if listed.returncode == 0:
        fetch = ("fetch", "--quiet", "--no-tags", *clone.as_shallow)
        clone.run(*fetch, "origin", f"refs/heads/{branch}")
        return clone.text("rev-parse", "FETCH_HEAD")
    if listed.returncode != _NO_SUCH_REF:
        raise RevisionError(
            f"cannot ask origin for {branch}: {listed.stderr.decode(errors='replace').strip()}"
        )
    empty_tree = clone.run("hash-object", "-t", "tree", "-w", "--stdin").decode().strip()
    return clone.text(*_author(clone), "commit-tree", "-m", f"Begin {branch}", empty_tree)


def _author(repository: Repository) -> list[str]:
    """Arguments that name an author where git has none."""
    asked = ("--name-only", "--get-regexp", r"^user\.(name|email)$")
    known = repository.attempt("config", *asked).stdout.decode().split()
    arguments = []
    for name, value in _AUTHOR.items():
        if name not in known:
            arguments += ["-c", f"{name}={value}"]
    return arguments
