"""gitops-dsf ci: what the pipeline of a fleet repository runs."""

import argparse
import io
import os
import sys
import tempfile
import time
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gitops_dsf.cli.arguments import add_fleet_directory
from gitops_dsf.errors import UsageError

if TYPE_CHECKING:
    from gitops_dsf.ci.environment import Pipeline
    from gitops_dsf.repository.model.repository import FleetRepositorySpec

DESCRIPTION = """\
The two jobs of a pipeline. They read the standard variables of GitHub Actions, GitLab CI, and
Gitea and Forgejo Actions, say what they do, and run on your machine, too."""

EXAMPLES = """\
examples:
  gitops-dsf ci check                           validate, test, render --check, and the preview
  gitops-dsf ci check --base origin/main        on your machine: compared with this revision
  gitops-dsf ci publish --branch main --dry-run    what the pipeline would push after a merge
"""

CHECK = """\
Validates, runs the tests, checks that rendered/ is up to date (with output.mode Branch: that it renders) and
shows the preview. In the pipeline of a pull request the preview becomes one comment, if the token may write
it: GITHUB_TOKEN (also on Gitea and Forgejo), on GitLab GITOPS_DSF_COMMENT_TOKEN (a project access token, role
Reporter, scope api; it cannot be protected, because merge requests read it; a job token may not write notes).
With GITOPS_DSF_PROMETHEUS (and, where the store wants one, GITOPS_DSF_PROMETHEUS_TOKEN) the comment has a
backtest; that needs "gitops-dsf[backtest]". Whoever may open a pull request from a branch can print these
tokens: give them no other right."""

PUBLISH = """\
Renders a branch as it is in origin, and pushes what changed: rendered/ to the same branch, or with
output.mode Branch to spec.output.branch. It never forces a push, and never touches your files. On GitLab it
pushes with GITOPS_DSF_PUSH_TOKEN: a masked and protected variable, a project access token with the scope
write_repository that may push to the branch. On the other forges the job needs `contents: write`, and a
protected branch an exception for it."""

_BACKTEST_TITLE: Final = "### What this would have done"
_MAX_CHARACTERS: Final = 65_000
"""Of a comment. GitHub takes 65,536."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    jobs = parser.add_subparsers(title="jobs", metavar="JOB", dest="job", required=True)
    check = jobs.add_parser(
        "check", help="the checks of a pull request", description=CHECK, formatter_class=raw
    )
    add_fleet_directory(check)
    check.add_argument(
        "--base",
        metavar="REV",
        help="what to compare with, if the forge does not say (the branch of Argo CD)",
    )
    check.add_argument("--junit", metavar="FILE", type=Path, help="write the results of the tests, too")
    publish = jobs.add_parser(
        "publish", help="render and push after a merge", description=PUBLISH, formatter_class=raw
    )
    add_fleet_directory(publish)
    publish.add_argument(
        "--branch", metavar="NAME", help="the branch, if the forge does not say which was pushed to"
    )
    publish.add_argument("--dry-run", action="store_true", help="push nothing")


def run(args: argparse.Namespace) -> int:
    """Returns 1 when a check fails or nothing can be pushed."""
    from gitops_dsf.ci.environment import pipeline_of
    from gitops_dsf.cli.arguments import check_has_settings

    check_has_settings(args.directory)
    pipeline = pipeline_of(os.environ)
    return _publish(args, pipeline) if args.job == "publish" else _check(args, pipeline)


def _check(args: argparse.Namespace, pipeline: "Pipeline") -> int:
    from gitops_dsf.pipeline import check

    directory = str(args.directory)
    resolved = check(args.directory).resolved
    settings = None if resolved is None else resolved.repository.spec
    style = "github" if pipeline.forge == "GitHub" else "text"
    failed = []
    if not _passes("validate", directory, "-o", style):
        failed.append("validate")
        _say("test and render are left out until the repository is valid")
    else:
        if not _passes("test", directory):
            failed.append("test")
        if not _is_rendered(args.directory, settings):
            failed.append("render")
        if args.junit is not None:
            args.junit.write_text(_printed("test", directory, "-o", "junit")[1], encoding="utf-8")
    if not _preview(args, pipeline, settings):
        failed.append("preview")
    _say(f"failed: {', '.join(failed)}" if failed else "everything passed")
    return int(bool(failed))


def _is_rendered(directory: Path, settings: "FleetRepositorySpec | None") -> bool:
    if settings is None or settings.output.mode == "Directory":
        return _passes("render", str(directory), "--check")
    with tempfile.TemporaryDirectory() as folder:
        return _passes("render", str(directory), "--out", str(Path(folder, "rendered")))


def _preview(args: argparse.Namespace, pipeline: "Pipeline", settings: "FleetRepositorySpec | None") -> bool:
    from gitops_dsf.repository.revision import Repository

    clone = Repository(directory=args.directory)
    base = args.base or pipeline.base
    if not base and settings is not None:
        branch = settings.git.target_revision
        base = next((name for name in (f"origin/{branch}", branch) if clone.commit(name) is not None), "")
    if not base:
        _say("no preview: nothing says what to compare with; name it with --base")
        return True
    state = settings.reconciler.state.branch if settings is not None else "gitops-dsf-state"
    if pipeline.forge:
        # A job's clone may have no other branch. There is none before the reconciler writes it.
        clone.attempt(
            "fetch", "--quiet", "--depth=1", "origin", f"+refs/heads/{state}:refs/remotes/origin/{state}"
        )
    source = (str(args.directory), "--base", base, "--state-branch", state)
    if not pipeline.forge:
        return _passes("diff", *source)
    # An error of the head is one of `validate` already; the preview then lists it.
    _, preview = _printed("diff", *source, "-o", "markdown")
    if not preview:
        return False
    return _hand_on(preview + _backtest(source, len(preview)), pipeline)


def _hand_on(preview: str, pipeline: "Pipeline") -> bool:
    from gitops_dsf.forge.forge import ForgeError
    from gitops_dsf.views.preview.markdown import MARKER

    if pipeline.summary is not None:
        with pipeline.summary.open("a", encoding="utf-8") as file:
            file.write(preview)
    else:
        print(preview)
    if pipeline.comments is None:
        _say(f"no comment: {pipeline.silence}")
        return True
    try:
        _say(f"{pipeline.comments.write(preview, marker=MARKER)} the comment with the preview")
    except ForgeError as error:
        what = "the token may not write it" if error.refused else "the forge did not take it"
        _say(f"no comment: {what}: {error}")
        return error.refused
    return True


def _backtest(source: tuple[str, ...], used: int) -> str:
    """The backtest as a section of the comment; empty without a store. A failure stops no pull request."""
    store, token = (os.environ.get(f"GITOPS_DSF_PROMETHEUS{end}", "") for end in ("", "_TOKEN"))
    if not store:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        words = ["--prometheus", store, "--time-limit", "60", "-o", "markdown"]
        if token:
            file = Path(folder, "token")
            file.touch(mode=0o600)
            file.write_text(token, encoding="utf-8")
            words += ["--token-file", str(file)]
        code, section = _printed("backtest", *source, *words)
    if code != 0:
        return f"\n{_BACKTEST_TITLE}\n\nThe backtest failed. The log of the pipeline says why.\n"
    if used + len(section) > _MAX_CHARACTERS:
        print(section)
        return f"\n{_BACKTEST_TITLE}\n\nThere is no room for it here: the log of the pipeline has it.\n"
    return f"\n{section}"


def _publish(args: argparse.Namespace, pipeline: "Pipeline") -> int:
    from gitops_dsf.ci.publish import Publication

    branch = args.branch or pipeline.branch
    if not branch:
        raise UsageError(
            "no forge says which branch was pushed to: name it with --branch, and try it with --dry-run"
        )
    publication = Publication(
        directory=args.directory,
        branch=branch,
        render=_renders,
        say=_say,
        sleep=time.sleep,
        push_url=pipeline.push_url,
        dry_run=args.dry_run,
    )
    return int(not publication.run())


def _renders(fleet: Path, out: Path) -> bool:
    """Renders, and fails if the folder has a file that no source renders to: Argo CD would apply it."""
    with chdir(fleet):  # so that findings name files as the repository does
        where = str(out.relative_to(fleet) if out.is_relative_to(fleet) else out)
        return _passes("render", "--out", where) and _passes("render", "--out", where, "--check")


def _passes(*command: str) -> bool:
    from gitops_dsf.cli.main import main

    _say(f"gitops-dsf {' '.join(command)}")
    code = main(command)
    sys.stderr.flush()
    return code == 0


def _printed(*command: str) -> tuple[int, str]:
    from gitops_dsf.cli.main import main

    _say(f"gitops-dsf {' '.join(command)}")
    with redirect_stdout(io.StringIO()) as printed:
        code = main(command)
    return code, printed.getvalue()


def _say(text: str) -> None:
    print(f"ci: {text}", flush=True)
