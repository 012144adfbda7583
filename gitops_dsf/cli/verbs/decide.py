"""The verbs that show decisions, past, present or possible: their help and their arguments.

`cli.main` imports the module of a verb only when it runs, so this one imports nothing slow.
"""

import argparse
from pathlib import Path
from typing import Final

from gitops_dsf.cli.arguments import (
    add_directory,
    add_journal,
    add_output,
    add_source,
    add_span,
    add_store,
)
from gitops_dsf.cli.verb import verb
from gitops_dsf.hub.moves.flapping import WINDOW_SECONDS


@verb(
    "diff",
    "show what a change does: scorers, clusters, moves",
    description="""\
Compares a fleet repository in the working tree with the same repository at a revision. Shows what
differs: scorers and the clusters that gain or lose them, Placements, and the applications that
would move, with their new cluster and the reason. The base is the merge base of the revision and
HEAD, as in a pull request. The base is read from git objects; the working tree, with its
uncommitted changes, is not modified.""",
    examples="""\
examples:
  gitops-dsf diff --base main --scores scores.yaml
  gitops-dsf diff --base origin/main --state-branch gitops-dsf-state -o markdown > comment.md
  gitops-dsf diff fleet --base main --head feature --context hub --exit-code
  gitops-dsf diff --base main --state-branch gitops-dsf-state -o html > preview.html
  gitops-dsf diff --base origin/main --context hub --prometheus https://thanos.example.com
  gitops-dsf diff --base origin/main --state-branch gitops-dsf-state \
--fail-on eviction --fail-on rescore

exit codes: 0 fine; 1 with --exit-code if anything differs, with --fail-on if that happens or is
unknown, and always if the head is not valid
""",
)
def diff(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    parser.add_argument(
        "--base", metavar="REV", required=True, help="branch, tag or commit to compare with"
    )
    parser.add_argument(
        "--head", metavar="REV", help="revision to compare, instead of the working tree"
    )
    add_output(parser, "text", "markdown", "json", "html")
    # Beside -o, so that a pipeline computes the preview once for its comment and its page.
    parser.add_argument(
        "--page",
        metavar="FILE",
        type=Path,
        help="also write the preview as an HTML page, with every entry of every list",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="text only: print whole lists, not only the first entries",
    )
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if anything differs")
    parser.add_argument(
        "--fail-on",
        metavar="EFFECT",
        action="append",
        default=[],
        choices=("move", "eviction", "rescore", "homeless", "overload"),
        help="exit with 1 for a move, an eviction or a rescore, or if the loss of a cluster would"
        " newly leave an application homeless or overload another cluster; may be repeated",
    )
    parser.add_argument(
        "--warn-rescored",
        metavar="PERCENT",
        type=float,
        default=25.0,
        help="warn if the scores of more of the fleet would change (25 by default)",
    )
    parser.add_argument(
        "--warn-close",
        metavar="POINTS",
        type=int,
        default=2,
        help="warn of applications that need this many points or fewer to move (2 by default; 0"
        " warns of none)",
    )
    add_source(parser)
    group = parser.add_argument_group("where raw scores come from")
    group.add_argument(
        "--prometheus",
        metavar="URL",
        help="a store with Prometheus' HTTP API: where it has raw scores, the scores after the"
        " change follow from them; a store that fails does not fail the preview",
    )
    add_store(group)


@verb(
    "simulate",
    "show where OCM would place the applications, and why",
    description="""\
Reads a fleet repository and computes what OCM's placement controller would decide for each
Placement: eligible clusters, scores, rank and selection. It writes nothing. Without scores it
shows what the filters alone decide. With --paced it shows which applications the reconciler would
move, and in which order. With --lose it shows where the applications of a cluster would go if it
were lost, and which have nowhere to go.""",
    examples="""\
examples:
  gitops-dsf simulate                       what the filters alone decide
  gitops-dsf simulate --scores scores.yaml  with the output of kubectl get
                                            addonplacementscores,placementdecisions -A -o yaml
  gitops-dsf simulate --scores out/ --placement guestbook
                                            one Placement, with the folder that an agent publishes
                                            to
  gitops-dsf simulate fleet --context hub -o json
                                            every verdict as JSON, with the scores of a hub
  gitops-dsf simulate --paced --context hub
                                            the next moves by spec.pace, in waves
  gitops-dsf simulate --lose eu-1 --context hub
                                            where its applications would go
  gitops-dsf simulate --lose region=eu --context hub
                                            the same for all clusters with this label
  gitops-dsf simulate --lose-each --state-branch gitops-dsf-state
                                            each cluster alone, one after the other
""",
)
def simulate(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    # The pace and a loss concern all Placements together, so neither goes with a single one.
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--placement", metavar="[NS/]NAME", help="only this Placement")
    extent.add_argument(
        "--paced",
        action="store_true",
        help="show the moves that spec.pace allows to begin together, wave by wave; needs scores",
    )
    extent.add_argument(
        "--lose",
        metavar="CLUSTER|LABEL=VALUE",
        action="append",
        default=[],
        help="show what follows if this cluster, or each with this label, were lost; repeated: all"
        " of them together; needs scores",
    )
    extent.add_argument(
        "--lose-each",
        action="store_true",
        help="the same for each cluster alone; needs scores",
    )
    parser.add_argument(
        "--all", action="store_true", help="show every Placement with its whole ranking"
    )
    add_output(parser, "text", "json", "html")
    add_source(parser)


@verb(
    "explain",
    "explain a decision, or what a code means",
    description="""\
Explains a Placement: what it asks for, by which scores and weights it ranks, and which clusters
are eligible. With CLUSTER it explains why OCM would or would not select this cluster: the filter
that excluded it, or how many points each score adds, which cluster it would change places with,
and the nearest score that would flip the decision. With a code it explains the finding, in most
cases with an example.""",
    examples="""\
examples:
  gitops-dsf explain guestbook            what it asks for; --scores or --context adds the ranking
  gitops-dsf explain guestbook eu-west-1 --scores scores.yaml
  gitops-dsf explain argocd/guestbook eu-west-1 fleet --context hub
  gitops-dsf explain guestbook us-east-1  without scores: only whether it passes the filters
  gitops-dsf explain DSF310               what a finding means
  gitops-dsf explain DSF3                 the codes that begin with DSF3
""",
)
def explain(parser: argparse.ArgumentParser) -> None:
    # `dsf310` is a code, too. A Placement of this very name is written with its namespace.
    parser.add_argument(
        "subject",
        metavar="PLACEMENT|CODE",
        help="namespace/name of a Placement, or the name alone if it is unique; or a code such as"
        " DSF310",
    )
    parser.add_argument(
        "cluster",
        metavar="CLUSTER",
        nargs="?",
        help="name of a ManagedCluster; without it, the Placement is explained",
    )
    add_directory(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="show every cluster of the ranking, not only the first 20",
    )
    add_output(parser, "text", "json", "html")
    add_source(parser)


@verb(
    "backtest",
    "show what would have been decided over the last weeks",
    description="""\
Reads raw scores of the past: the metric dynamic_score, from any store with Prometheus' HTTP API,
or from saved answers of one. Applies what agents and OCM do with them, and shows what this
repository would have decided: moves, the time on each cluster, moves back and forth with the
score that caused them, and regret, the points by which the decision was worse than the best one.
With --base it compares two revisions.""",
    examples="""\
examples:
  gitops-dsf backtest --prometheus https://thanos.example.com
                          the last 14 days of this repository
  gitops-dsf backtest --prometheus URL --base origin/main -o markdown
                          for a pull request
  gitops-dsf backtest --prometheus URL --days 30 --placement portal --advise
                          which stickiness would be better
  gitops-dsf backtest --history scores.json -o html > backtest.html
                          from a saved answer of /api/v1/query_range

exit codes: 0 fine; 1 if the repository has errors or the history cannot be read
""",
)
def backtest(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    group = parser.add_argument_group("where the history comes from")
    history = group.add_mutually_exclusive_group(required=True)
    history.add_argument("--prometheus", metavar="URL", help="a store with Prometheus' HTTP API")
    history.add_argument(
        "--history",
        metavar="PATH",
        type=Path,
        help="file or folder with saved answers of /api/v1/query_range",
    )
    add_store(parser)
    add_span(parser)
    parser.add_argument("--base", metavar="REV", help="compare with this revision, as diff does")
    parser.add_argument(
        "--placement",
        metavar="[NS/]NAME",
        action="append",
        default=[],
        help="only this Placement; may be repeated",
    )
    parser.add_argument(
        "--window",
        metavar="SECONDS",
        type=float,
        default=WINDOW_SECONDS,
        help="a cluster that is chosen again within this time counts as back and forth"
        " (%(default)g)",
    )
    parser.add_argument(
        "--advise",
        action="store_true",
        help="try every stickiness and several deadbands; with a journal, also propose demands",
    )
    add_journal(parser)
    add_output(parser, "text", "json", "markdown", "html")
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        help="leave out what is not read or decided in time, and say so; for pipelines",
    )
    add_source(parser)


VERBS: Final = (diff, simulate, explain, backtest)
