"""The verb `gitops-dsf render`: writes the tree that Argo CD applies."""

import argparse
import sys
from pathlib import Path
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.cli.inputs import check_is_folder
from gitops_dsf.cli.report import show_findings
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.output import Changes, compare, write
from gitops_dsf.pipeline import RenderResult, produce
from gitops_dsf.render.argocd import BOOTSTRAP, RENDERED
from gitops_dsf.render.tree import RenderedTree
from gitops_dsf.repository.load.paths import FOLDERS
from gitops_dsf.wording import plural

SHRINK_LIMIT: Final = 0.2
"""The share of ManifestWorks that one render may drop (docs/reference/generator.md#guards)."""


def run(args: argparse.Namespace) -> int:
    """Renders, and returns the exit code.

    It is 1 when there are errors, or with --check when the tree is stale or holds foreign files.
    """
    if args.part and not args.stdout:
        raise UsageError("--part goes with --stdout")
    check_is_folder(args.directory)
    out = _target(args.directory, args.out)
    tree = _shown(args.directory, produce(args.directory))
    if tree is None:
        return 1
    if args.stdout:
        return _stream(tree, args.part)
    return _delivered(tree, out, is_check=args.check, allow_shrink=args.allow_shrink)


def deliver(
    directory: Path, rendered: RenderResult, *, out: str | None, is_check: bool = False
) -> int:
    """Delivers a fleet that was rendered already, as `render` does. Returns its exit code."""
    target = _target(directory, out)
    tree = _shown(directory, rendered)
    if tree is None:
        return 1
    return _delivered(tree, target, is_check=is_check, allow_shrink=False)


def _target(directory: Path, out: str | None) -> Path:
    """The folder that the tree goes into. Raises UsageError or RepositoryError."""
    if out is not None and not out:
        # `--out "$UNSET"` passes an empty path, which would mean the current folder.
        raise UsageError("--out is empty; name the folder that the tree goes into")
    target = Path(out) if out else directory / RENDERED
    if not out and target.is_symlink():
        raise RepositoryError(
            f"{target} is a symbolic link, and nothing is written behind one; remove it, or name"
            " the folder with --out"
        )
    _check_is_apart(target, directory)
    return target


def _shown(directory: Path, rendered: RenderResult) -> RenderedTree | None:
    """The tree, after the findings are shown; None if one of them is an error.

    What the fleet took is enough for the comparison of a large tree with its folder, so the fleet
    is not handed on.
    """
    ending = "nothing was rendered" if rendered.tree is None else ""
    show_findings(directory, rendered.diagnostics, ending=ending)
    return rendered.tree


def _delivered(tree: RenderedTree, out: Path, *, is_check: bool, allow_shrink: bool) -> int:
    """Writes the tree, or compares it with its folder, and returns the exit code."""
    changes = compare(tree, out)
    if is_check:
        return _check(changes, out)
    return _write(tree, out, changes, allow_shrink=allow_shrink)


def _check_is_apart(out: Path, directory: Path) -> None:
    """Raises UsageError if the tree would be written among the sources.

    The next run would read it there.
    """
    root = directory.resolve()
    target = out.resolve()
    if target == root or any(target.is_relative_to(root / folder) for folder in FOLDERS):
        raise UsageError(
            f"--out {out} is where the sources are; name a folder of its own, such as"
            f" {directory / RENDERED}"
        )


def _stream(tree: RenderedTree, part: str | None) -> int:
    """Prints manifests, and returns the exit code.

    Everything is rendered before, so an error never leaves half a stream.
    """
    directories = sorted({path.partition("/")[0] for path in tree.files if "/" in path})
    if part is not None and part not in directories:
        raise UsageError(
            f"there is no part {part!r}; this repository renders {', '.join(directories)}"
        )
    paths: list[str] = []
    for directory in directories:
        # The stream goes to Argo CD, and the bootstrap is what people apply.
        is_requested = directory == part if part else directory != BOOTSTRAP
        if is_requested:
            # Each directory has a README, too, which is not a manifest.
            paths += [path for path in tree.part(directory) if path.endswith(".yaml")]
    if not paths:
        # Argo CD accepts empty output and then deletes everything
        # (docs/contributing/behaviour.md#plugin-output).
        print(
            printable(
                f"{part or 'the repository'} renders to no object; an empty answer would make Argo"
                " CD delete what is there"
            ),
            file=sys.stderr,
        )
        return 1
    # Bytes, so that the stream is what a render writes, also where print() would write CRLF.
    out = sys.stdout.buffer
    for path in paths:
        out.write(b"---\n")
        out.writelines(tree.files[path])
    out.flush()
    return 0


def _check(changes: Changes, out: Path) -> int:
    """Lists what differs from the rendered tree, and returns the exit code."""
    _report_foreign(changes, out)
    for word, paths in (
        ("foreign", changes.unwanted),
        ("missing", changes.added),
        ("stale", (*changes.changed, *changes.blocked)),
        ("left over", changes.removed),
    ):
        for path in paths:
            # With git's autocrlf these are all files of a clone on Windows, and one sentence below
            # says what to set.
            if path not in changes.only_line_ends:
                print(printable(f"{word}: {out / path}"))
    if changes.unwanted:
        print(
            f"{printable(out)} holds files that no source produces, and Argo CD would apply"
            " them: remove them",
            file=sys.stderr,
        )
    if changes.line_ends:
        print(printable(f"{out}: {changes.line_ends}"), file=sys.stderr)
    outdated = {*changes.blocked, *set(changes.stale) - changes.only_line_ends}
    if outdated:
        print(
            f"{printable(out)} is out of date ({plural(len(outdated), 'file')}): run"
            " `gitops-dsf render`",
            file=sys.stderr,
        )
    return int(bool(changes.unwanted or changes.blocked) or not changes.is_clean)


def _write(tree: RenderedTree, out: Path, changes: Changes, *, allow_shrink: bool) -> int:
    """Writes the tree, and returns the exit code.

    A repository that is not complete, after a failed checkout for example, renders to a valid tree
    without most of its objects. Argo CD would delete them, so it is asked for first.

    Raises RepositoryError if files of others are in the way.
    """
    if changes.blocked:
        names = "\n".join(f"  {printable(out / path)}" for path in changes.blocked)
        raise RepositoryError(
            "files that gitops-dsf did not write stand where rendered files belong; move them away"
            f" first:\n{names}"
        )
    if changes.works_dropped > SHRINK_LIMIT * changes.works_before and not allow_shrink:
        print(
            printable(
                f"this render would drop {changes.works_dropped} of {changes.works_before}"
                f" ManifestWorks, more than {SHRINK_LIMIT:.0%}: are all the files of clusters/"
                " there? If it is meant, add --allow-shrink"
            ),
            file=sys.stderr,
        )
        return 1
    if changes.scorers_dropped and not allow_shrink:
        # Without scorers, every cluster would get an empty list, and every agent would delete its
        # scores.
        print(
            printable(
                f"this render would drop every scorer ({changes.scorers_dropped}): are all the"
                " files of scorers/ there? If it is meant, add --allow-shrink"
            ),
            file=sys.stderr,
        )
        return 1
    write(tree, out, changes)
    _report_foreign(changes, out)
    if changes.is_clean:
        print(f"{printable(out)}: {len(tree.files)} files, nothing changed")
    else:
        print(
            f"{printable(out)}: {len(tree.files)} files; {len(changes.added)} added,"
            f" {len(changes.changed)} changed, {len(changes.removed)} removed"
        )
    if changes.line_ends:
        print(printable(f"{out}: {changes.line_ends}"), file=sys.stderr)
    bootstrap = out / BOOTSTRAP
    # Not after the first render, when nothing is on the hub yet: `install` applies it.
    if changes.owned and any(path.startswith(f"{BOOTSTRAP}/") for path in changes.stale):
        print(
            printable(
                f"{bootstrap} changed, and Argo CD does not apply it: run kubectl apply"
                f" --server-side -f {bootstrap}, because until then Argo CD refuses what its"
                " AppProjects do not allow"
            )
        )
    return 0


def _report_foreign(changes: Changes, out: Path) -> None:
    for path in changes.foreign:
        print(printable(f"{out / path}: not written by gitops-dsf, left alone"), file=sys.stderr)
