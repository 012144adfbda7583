"""gitops-dsf ci: what the pipeline of a fleet repository runs."""

import argparse
import io
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Final

from dsf_wire.text import printable_lines
from gitops_dsf.ci.comment import NotWrittenError, write_comment
from gitops_dsf.ci.environment import Pipeline, PipelineError, pipeline_of, secret_variable
from gitops_dsf.ci.publish import Publication
from gitops_dsf.cli.inputs import check_has_settings
from gitops_dsf.cli.main import main, without_secrets
from gitops_dsf.cli.report import show_findings
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.errors import UsageError
from gitops_dsf.pipeline import check
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.git import Repository
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.repository.revision.branch import fetch_branch
from gitops_dsf.show.preview.page import MARKER, MAX_CHARACTERS

_BACKTEST_TITLE: Final = "### What this would have done"
_BACKTEST_FAILED: Final = (
    f"\n{_BACKTEST_TITLE}\n\nThe backtest failed. The log of the pipeline says why.\n"
)


def run(args: argparse.Namespace) -> int:
    """Returns 1 when a check fails or nothing can be pushed."""
    check_has_settings(args.directory)
    pipeline = pipeline_of(os.environ)
    return _publish(args, pipeline) if args.job == "publish" else _check(args, pipeline)


def _check(args: argparse.Namespace, pipeline: Pipeline) -> int:
    directory = str(args.directory)
    fleet = check(args.directory).fleet
    settings = None if fleet is None else fleet.repository.spec
    style = "github" if pipeline.forge == "GitHub" else "text"
    failed = []
    strictly = ["--strict"] if args.strict else []
    for code in codes.DESTINATIONS:
        strictly += ["--error", code.id]
    if not _passes("validate", directory, "-o", style, *strictly):
        failed.append("validate")
    if fleet is None:
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


def _is_rendered(directory: Path, settings: FleetRepositorySpec | None) -> bool:
    if settings is None or settings.output.mode == "Directory":
        return _passes("render", str(directory), "--check")
    with tempfile.TemporaryDirectory() as folder:
        return _passes("render", str(directory), "--out", str(Path(folder, "rendered")))


def _preview(
    args: argparse.Namespace, pipeline: Pipeline, settings: FleetRepositorySpec | None
) -> bool:
    clone = Repository(directory=args.directory)
    base = args.base or base_of(clone, pipeline)
    if not base and settings is not None:
        branch = settings.git.target_revision
        base = next(
            (name for name in (f"origin/{branch}", branch) if clone.commit(name) is not None), ""
        )
    if not base:
        _say("no preview: nothing says what to compare with; name it with --base")
        return True
    state = settings.reconciler.state.branch if settings is not None else "gitops-dsf-state"
    if pipeline.forge:
        # A job's clone may have no other branch. There is none before the reconciler writes it.
        fetch_branch(args.directory, state)
    source = (str(args.directory), "--base", base, "--state-branch", state)
    if not pipeline.forge:
        return _passes("diff", *source)
    # An error of the head is one of `validate` already; the preview then lists it.
    _, preview = _printed("diff", *source, "-o", "markdown")
    if not preview:
        return False
    _hand_on(preview + _backtest(source, len(preview)), pipeline)
    return True


def base_of(clone: Repository, pipeline: Pipeline) -> str:
    """What the forge says that a pull request is compared with; empty without a pull request."""
    if pipeline.merge and clone.commit("HEAD") == pipeline.merge:
        # The first parent is the branch that was merged into, as it was then.
        parents = clone.parents("HEAD")
        if len(parents) > 1:
            return parents[0]
    branch = f"origin/{pipeline.base_branch}"
    if not pipeline.base_branch or clone.commit(branch) is None:
        return pipeline.base
    # A runner that keeps its clone may have an old copy of the branch.
    is_old = clone.attempt("merge-base", "--is-ancestor", branch, pipeline.base).returncode == 0
    return pipeline.base if is_old else branch


def _hand_on(preview: str, pipeline: Pipeline) -> None:
    if pipeline.summary is not None:
        with pipeline.summary.open("a", encoding="utf-8") as file:
            file.write(preview)
    else:
        print(preview)
    if pipeline.pull is None:
        _say(f"no comment: {pipeline.silence}")
        return
    forge, number = pipeline.pull
    try:
        done = write_comment(forge, number, preview, marker=MARKER, sleep=time.sleep)
        _say(f"{done} the comment with the preview")
    except NotWrittenError as error:
        # The findings decide about the pull request, and the preview is in the summary or in the
        # log.
        _say(f"no comment: {error}")


def _backtest(source: tuple[str, ...], used: int) -> str:
    """The backtest as a section of the comment; empty without a store.

    A failure stops no pull request.
    """
    store = os.environ.get("GITOPS_DSF_PROMETHEUS", "").strip()
    if not store:
        return ""
    try:
        token = secret_variable(os.environ, "GITOPS_DSF_PROMETHEUS_TOKEN")
    except PipelineError as error:
        _say(str(error))
        return _BACKTEST_FAILED
    with tempfile.TemporaryDirectory() as folder:
        words = ["--prometheus", store, "--time-limit", "60", "-o", "markdown"]
        if token:
            file = Path(folder, "token")
            file.touch(mode=0o600)
            file.write_text(token, encoding="utf-8")
            words += ["--token-file", str(file)]
        code, section = _printed("backtest", *source, *words)
    if code != 0:
        return _BACKTEST_FAILED
    if used + len(section) > MAX_CHARACTERS:
        print(section)
        return f"\n{_BACKTEST_TITLE}\n\nThere is no room for it here: the log of the pipeline has it.\n"
    return f"\n{section}"


def _publish(args: argparse.Namespace, pipeline: Pipeline) -> int:
    branch = args.branch or pipeline.branch
    if not branch:
        raise UsageError(
            "no forge says which branch was pushed to: name it with --branch, and try it with"
            " --dry-run"
        )
    publication = Publication(
        directory=args.directory,
        branch=branch,
        render=_renders,
        report=_report,
        say=_say,
        sleep=time.sleep,
        push_url=pipeline.push_url,
        dry_run=args.dry_run,
    )
    return int(not publication.run())


def _renders(fleet: Path) -> bool:
    """Renders, and fails if the folder has a file that no source renders to: Argo CD would apply it."""
    with chdir(fleet):  # so that findings name files as the repository does
        return _passes("render", "--out", RENDERED) and _passes(
            "render", "--out", RENDERED, "--check"
        )


def _report(diagnostics: Sequence[Diagnostic]) -> None:
    show_findings(Path(), diagnostics, ending="nothing was rendered")


def _passes(*command: str) -> bool:
    _say(f"gitops-dsf {' '.join(without_secrets(command))}")
    code = main(command)
    sys.stderr.flush()
    return code == 0


def _printed(*command: str) -> tuple[int, str]:
    _say(f"gitops-dsf {' '.join(without_secrets(command))}")
    with redirect_stdout(io.StringIO()) as printed:
        code = main(command)
    return code, printed.getvalue()


def _say(text: str) -> None:
    print(printable_lines(f"ci: {text}".split("\n")), end="", flush=True)
