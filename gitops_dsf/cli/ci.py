"""The verb `gitops-dsf ci`: the jobs that the pipeline of a fleet repository runs.

The jobs call the verbs that people call, so that a failed pipeline can be repeated on a machine.

Guaranteed: nothing is written into the work tree by a check, and a token is never an argument of a
process. Not guaranteed: a preview with data. When the hub's branch or a metric store cannot be
read, the preview says so, and the job does not fail because of it.
"""

import argparse
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from dsf_wire.text import printable_lines
from dsf_wire.weburl import is_web_url
from gitops_dsf.ci.comment import NotWrittenError, write_comment
from gitops_dsf.ci.environment import pipeline_run
from gitops_dsf.ci.publish import PublishJob
from gitops_dsf.ci.run import PipelineError, PipelineRun, secret_variable
from gitops_dsf.cli.inputs import check_has_settings
from gitops_dsf.cli.main import exit_code_of, without_secrets
from gitops_dsf.cli.render import deliver
from gitops_dsf.cli.report import show_findings
from gitops_dsf.cli.test import report_tests
from gitops_dsf.cli.validate import report_folder
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.errors import UsageError
from gitops_dsf.pipeline import CheckResult, check_declared, produce_checked
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.git import Repository
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.revision.branch import fetch_branch
from gitops_dsf.repository.sources import load
from gitops_dsf.show.preview.page import MARKER, MAX_CHARACTERS
from gitops_dsf.urls.store_pages import is_store_page

BACKTEST_SECONDS: Final = 60
"""The time limit for the backtest of a pull request."""
# The settings of a pull request may be invalid, and then `diff` still lists their mistakes.
DEFAULT_STATE_BRANCH: Final = "gitops-dsf-state"
"""The branch to which the reconciler writes its state, if the settings cannot be read."""
_BACKTEST_TITLE: Final = "### What this would have done"


def run(args: argparse.Namespace) -> int:
    """Returns 1 when a check fails or nothing can be pushed."""
    check_has_settings(args.directory)
    pipeline = pipeline_run(os.environ)
    return _publish(args, pipeline) if args.job == "publish" else _check(args, pipeline)


def _check(args: argparse.Namespace, pipeline: PipelineRun) -> int:
    """Runs every check, also after one that fails, so that people see all that is wrong."""
    sources = _checks_of_sources(args, pipeline)
    failed = list(sources.failed)
    if not _preview(args, pipeline, sources.settings):
        failed.append("preview")
    _log(f"failed: {', '.join(failed)}" if failed else "everything passed")
    return int(bool(failed))


class _CheckedSources(NamedTuple):
    """The facts about the sources that the preview needs."""

    settings: FleetRepositorySpec | None
    """None if the repository is invalid."""
    failed: tuple[str, ...]
    """The names of the checks that fail."""


def _checks_of_sources(args: argparse.Namespace, pipeline: PipelineRun) -> _CheckedSources:
    """Checks the sources, and forgets them.

    The preview needs their memory, because it reads them beside those of the base.
    """
    loaded = load(args.directory)
    declared = declare(loaded)
    checked = check_declared(declared)
    settings = None if checked.fleet is None else checked.fleet.repository.spec
    tests = partial(report_tests, args.directory, loaded, declared, checked)
    failed = tuple(_failed_checks(args, pipeline, checked, settings, tests))
    return _CheckedSources(settings, failed)


def _failed_checks(
    args: argparse.Namespace,
    pipeline: PipelineRun,
    checked: CheckResult,
    settings: FleetRepositorySpec | None,
    tests: Callable[..., int],
) -> Iterator[str]:
    """The names of the checks that fail. Without settings the repository is invalid.

    `tests` runs the tests of scores and decisions.
    """
    directory = str(args.directory)
    if not _validates(args, pipeline, checked):
        yield "validate"
    if settings is None:
        _log("test and render are left out until the repository is valid")
        return
    if not _passes("test", directory, run=tests):
        yield "test"
    if not _renders_as_committed(args.directory, settings, checked):
        yield "render"
    if args.junit is not None:
        # The tests ran above as text, for the log. A verb prints one format, so they run again.
        report_as_junit = partial(tests, style="junit")
        _, report = _printed("test", directory, "-o", "junit", run=report_as_junit)
        args.junit.write_text(report, encoding="utf-8")


def _validates(args: argparse.Namespace, pipeline: PipelineRun, checked: CheckResult) -> bool:
    """Prints what `validate` says. The fleet is checked already, and a large one takes seconds."""
    style = "github" if pipeline.forge == "GitHub" else "text"
    options = ["-o", style]
    if args.strict:
        options.append("--strict")
    # The author of a pull request writes the hosts of scorers; code owners of gitops-dsf.yaml say
    # which hosts are allowed.
    errors = [code.id for code in codes.DESTINATIONS]
    for error in errors:
        options += ["--error", error]
    _log_command("validate", str(args.directory), *options)
    exit_code = report_folder(
        args.directory, checked, style=style, strict=args.strict, errors=errors
    )
    _end_of_verb()
    return exit_code == 0


def _renders_as_committed(
    directory: Path, settings: FleetRepositorySpec, checked: CheckResult
) -> bool:
    """Whether rendered/ is up to date, or, where it is on a branch of its own, can be rendered."""
    # With mode Branch the pipeline renders after the merge, so nothing in the pull request can be
    # old.
    if settings.output.mode == "Directory":
        return _passes(
            "render",
            str(directory),
            "--check",
            run=lambda: deliver(directory, produce_checked(checked), out=None, is_check=True),
        )
    # The tree is rendered elsewhere, because a check writes nothing into a clone that may be a
    # person's work tree.
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "rendered"))
        return _passes(
            "render",
            str(directory),
            "--out",
            out,
            run=lambda: deliver(directory, produce_checked(checked), out=out),
        )


def _preview(
    args: argparse.Namespace, pipeline: PipelineRun, settings: FleetRepositorySpec | None
) -> bool:
    """Writes the preview where people read it. False if it could not be made."""
    base = args.base or _base(args.directory, pipeline, settings)
    if not base:
        # A push to a branch has no base, and nothing is wrong with it.
        _log("no preview: nothing says what to compare with; name it with --base")
        return True
    state = DEFAULT_STATE_BRANCH if settings is None else settings.reconciler.state.branch
    if pipeline.forge:
        # A job's clone may have no other branch. There is none before the reconciler writes it.
        fetch_branch(args.directory, state)
    source = (str(args.directory), "--base", base, "--state-branch", state)
    page = () if args.page is None else ("--page", str(args.page))
    if not pipeline.forge:
        return _passes("diff", *source, *page)
    # An error of the head is one of `validate` already; the preview then lists it.
    with _metric_store() as store:
        _, preview = _printed("diff", *source, *_usable(store), *page, "-o", "markdown")
        if not preview:
            return False
        # In the order of what a reviewer needs first. Each part gets the room that is left.
        preview += _page_link(args.page, pipeline)
        preview += _trials(args.directory, base, store, len(preview))
        _hand_on(preview + _backtest(source, store, len(preview)), pipeline)
    return True


def _page_link(page: Path | None, pipeline: PipelineRun) -> str:
    """The address of the preview's page, for the comment; empty without one."""
    if page is None or not page.is_file() or not pipeline.artifacts:
        return ""
    return f"\nEverything of this preview: [{page.name}]({pipeline.artifacts})\n"


def _base(directory: Path, pipeline: PipelineRun, settings: FleetRepositorySpec | None) -> str:
    """The base of a run if none is given; empty if it is unknown."""
    with Repository(directory=directory).reading() as clone:
        return base_of(clone, pipeline) or _target_branch(clone, settings)


def base_of(clone: Repository, pipeline: PipelineRun) -> str:
    """The base of a pull request according to the forge; empty without a pull request."""
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


def _target_branch(clone: Repository, settings: FleetRepositorySpec | None) -> str:
    """The branch that Argo CD reads, if this clone has it; else empty."""
    if settings is None:
        return ""
    branch = settings.git.target_revision
    # A branch of a clone is as old as the last pull; that of the remote is what Argo CD reads.
    names = (f"origin/{branch}", branch)
    for name, commit in zip(names, clone.commits(names), strict=True):
        if commit is not None:
            return name
    return ""


def _hand_on(preview: str, pipeline: PipelineRun) -> None:
    """Writes the preview to the summary or the log, and to the pull request if there is one."""
    if pipeline.summary is not None:
        # Appended, because other steps of the job may have written to the summary.
        with pipeline.summary.open("a", encoding="utf-8") as file:
            file.write(preview)
    else:
        print(preview)
    if pipeline.pull is None:
        _log(f"no comment: {pipeline.silence}")
        return
    forge, number = pipeline.pull
    try:
        outcome = write_comment(forge, number, preview, marker=MARKER, sleep=time.sleep)
        _log(f"{outcome} the comment with the preview")
    except NotWrittenError as error:
        # The findings decide about the pull request, and the preview is in the summary or the log.
        _log(f"no comment: {error}")


class _MetricStore(NamedTuple):
    """The store that the pipeline names."""

    url: str
    """Empty without one."""
    token_file: Path | None
    problem: str
    """The reason why its token cannot be sent; empty if it can, or if there is none."""

    @property
    def access(self) -> tuple[str, ...]:
        """The arguments of `scorer try` for access."""
        options: tuple[str, ...] = ("--prometheus", self.url)
        if self.token_file is not None:
            options += ("--token-file", str(self.token_file))
        return options

    @property
    def options(self) -> tuple[str, ...]:
        """The arguments of `diff` and `backtest` for access."""
        options = self.access
        label = os.environ.get("GITOPS_DSF_CLUSTER_LABEL", "").strip()
        if label:
            options += ("--cluster-label", label)
        return options


@contextmanager
def _metric_store() -> Iterator[_MetricStore]:
    """The store of GITOPS_DSF_PROMETHEUS, with its token in a file for as long as it is needed."""
    url = os.environ.get("GITOPS_DSF_PROMETHEUS", "").strip()
    if not url:
        yield _MetricStore("", None, "")
        return
    try:
        token = secret_variable(os.environ, "GITOPS_DSF_PROMETHEUS_TOKEN")
    except PipelineError as error:
        _log(str(error))
        yield _MetricStore(url, None, str(error))
        return
    if not token:
        yield _MetricStore(url, None, "")
        return
    with tempfile.TemporaryDirectory() as folder:
        # The token is in a file that only this user can read: arguments of a process can be listed.
        file = Path(folder, "token")
        file.touch(mode=0o600)
        file.write_text(token, encoding="utf-8")
        yield _MetricStore(url, file, "")


def _usable(store: _MetricStore) -> tuple[str, ...]:
    """The options for `diff`; none if it would refuse them, because a store fails no preview.

    The backtest, which is run with them in any case, then says what is wrong.
    """
    if store.problem or not is_web_url(store.url) or is_store_page(store.url):
        return ()
    return store.options


def _trials(directory: Path, base: str, store: _MetricStore, used: int) -> str:
    """A line for each changed scorer, as a section of the comment; empty without one.

    `used` is how many characters the comment has already. Without the extra `try`, or if the store
    fails, the log says so, and no pull request stops.
    """
    if not _usable(store):
        return ""
    # `scorer try` asks what the agent of one cluster asks, so it has no --cluster-label.
    words = (str(directory), "--base", base, *store.access, "-o", "markdown")
    _, section = _printed("scorer", "try", "--changed", *words)
    # Left out as a whole: half of a table would look complete. The log has the command.
    if not section or used + len(section) > MAX_CHARACTERS:
        return ""
    return f"\n{section}"


def _backtest(source: tuple[str, ...], store: _MetricStore, used: int) -> str:
    """The backtest as a section of the comment; empty without a store.

    `used` is how many characters the comment has already. A failure stops no pull request.
    """
    if not store.url:
        return ""
    failure = f"\n{_BACKTEST_TITLE}\n\nThe backtest failed. The log of the pipeline says why.\n"
    if store.problem:
        return failure
    # People wait for the checks of a pull request, and a slow store must not hold them.
    options = (*store.options, "--time-limit", str(BACKTEST_SECONDS), "-o", "markdown")
    exit_code, section = _printed("backtest", *source, *options)
    if exit_code != 0:
        return failure
    # A forge refuses a comment that is too long, and then there would be none at all.
    if used + len(section) > MAX_CHARACTERS:
        print(section)
        return (
            f"\n{_BACKTEST_TITLE}\n\nThere is no room for it here: the log of the pipeline has it."
            "\n"
        )
    return f"\n{section}"


def _publish(args: argparse.Namespace, pipeline: PipelineRun) -> int:
    branch = args.branch or pipeline.branch
    # The branch of the clone does not count: on a person's machine it is not a push to it.
    if not branch:
        raise UsageError(
            "no forge says which branch was pushed to: name it with --branch, and try it with"
            " --dry-run"
        )
    job = PublishJob(
        directory=args.directory,
        branch=branch,
        render=_renders,
        report=_report,
        log=_log,
        sleep=time.sleep,
        push_url=pipeline.push_url,
        dry_run=args.dry_run,
    )
    return int(not job.run())


def _renders(fleet: Path, checked: CheckResult) -> bool:
    """Renders a fleet. False if its folder then has a file that no source produces.

    Argo CD would apply that file.
    """
    rendered = produce_checked(checked)
    write = partial(deliver, Path(), rendered, out=RENDERED)
    compare = partial(write, is_check=True)
    with chdir(fleet):  # so that findings name files as the repository does
        if not _passes("render", "--out", RENDERED, run=write):
            return False
        # Rendering leaves foreign files alone and succeeds; only the check fails for them.
        return _passes("render", "--out", RENDERED, "--check", run=compare)


def _report(diagnostics: Sequence[Diagnostic]) -> None:
    show_findings(Path(), diagnostics, ending="nothing was rendered")


def _passes(*command: str, run: Callable[[], int] | None = None) -> bool:
    """Runs a verb, which prints to the log.

    `run` does the same for a fleet that is checked already, and a large one takes seconds.
    """
    _log_command(*command)
    exit_code = exit_code_of(command, run)
    _end_of_verb()
    return exit_code == 0


def _printed(*command: str, run: Callable[[], int] | None = None) -> tuple[int, str]:
    """The exit code of a verb, and what it prints. `run` is as in `_passes`."""
    _log_command(*command)
    # Only the result: what goes to standard error still reaches the log.
    with redirect_stdout(io.StringIO()) as printed:
        exit_code = exit_code_of(command, run)
    return exit_code, printed.getvalue()


def _log_command(*command: str) -> None:
    """Says what people run to have the same on their machine."""
    _log(f"gitops-dsf {' '.join(without_secrets(command))}")


def _end_of_verb() -> None:
    """Flush both streams, after a verb.

    A pipeline joins them into one log, in which the findings of a verb belong before our next line.
    """
    sys.stdout.flush()
    sys.stderr.flush()


def _log(text: str) -> None:
    print(printable_lines(f"ci: {text}".split("\n")), end="", flush=True)
