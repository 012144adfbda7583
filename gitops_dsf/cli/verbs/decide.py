"""The verbs that show what is or would be decided: what people type."""

from typing import Final

from dsf_wire.rawscores import CLUSTER_LABEL, METRIC
from gitops_dsf.cli.arguments import Arguments, verb
from gitops_dsf.hub.flapping import WINDOW_SECONDS


@verb(
    "diff",
    "show what a change does: scorers, clusters, moves",
    description="""\
Compares a fleet repository in the working tree with the same repository at a revision, and shows what
differs: scorers and the clusters that gain or lose them, Placements, and the applications that would move,
where to and why. The base is the merge base of the revision and HEAD, as in a pull request. It is read from
git objects; the working tree, with its uncommitted changes, is not modified.""",
    examples="""\
examples:
  gitops-dsf diff --base main --scores scores.yaml
  gitops-dsf diff --base origin/main --state-branch gitops-dsf-state -o markdown > comment.md
  gitops-dsf diff fleet --base main --head feature --context hub --exit-code
  gitops-dsf diff --base origin/main --state-branch gitops-dsf-state --fail-on eviction --fail-on rescore

exit codes: 0 fine; 1 with --exit-code when anything differs, with --fail-on when that happens or is unknown,
and whenever the head does not validate
""",
)
def diff(add: Arguments) -> None:
    add.fleet()
    add("--base REV", "branch, tag or commit to compare with", required=True)
    add("--head REV", "compare this revision in place of the working tree")
    add.output("text", "markdown", "json")
    add("--all", "text: everything, not only the first of each list")
    add("--exit-code", "exit 1 when anything differs")
    add(
        "--fail-on EFFECT ...",
        "exit 1 for a move, an eviction or a rescore; may be repeated",
        choices=("move", "eviction", "rescore"),
    )
    add(
        "--warn-rescored PERCENT",
        "warn when more of the fleet is re-scored (25 by default)",
        default=25.0,
    )
    add(
        "--warn-close POINTS",
        "warn of applications this close to moving (2 by default; 0 for none)",
        type=int,
        default=2,
    )
    add.source()


@verb(
    "simulate",
    "show where OCM would place the applications, and why",
    description="""\
Reads a fleet repository and computes what OCM's placement controller would decide for each Placement:
eligible clusters, scores, rank and selection. Nothing is written anywhere. Without scores it shows what the
filters alone decide. With --paced it shows which applications the reconciler would move, in which order.""",
    examples="""\
examples:
  gitops-dsf simulate                                        what the filters alone decide
  gitops-dsf simulate --scores scores.yaml                   kubectl get addonplacementscores,placementdecisions -A -o yaml
  gitops-dsf simulate --scores out/ --placement guestbook    the folder that an agent publishes to; one Placement
  gitops-dsf simulate fleet --context hub -o json            ask the hub; every verdict as JSON
  gitops-dsf simulate --paced --context hub                  the moves that follow by spec.pace, in waves
""",
)
def simulate(add: Arguments) -> None:
    add.fleet()
    shown = add.one_of()
    shown("--placement [NS/]NAME", "only this Placement")
    shown("--paced", "the moves that spec.pace lets begin together, wave after wave; needs scores")
    add("--all", "every Placement with its whole ranking, however many there are")
    add.output("text", "json")
    add.source()


@verb(
    "explain",
    "explain a decision, or what a code means",
    description="""\
Says of a Placement what it asks for, which scores it ranks by with which weights, and which clusters are
eligible. Says of one cluster why OCM would or would not select it: the filter that dropped it, or what each
score adds to its points, whom it would change places with, and the nearest score that would flip that.
Of a code of a finding it says what it means, and most have an example.""",
    examples="""\
examples:
  gitops-dsf explain guestbook                                what it asks for; --scores or --context adds the ranking
  gitops-dsf explain guestbook eu-west-1 --scores scores.yaml
  gitops-dsf explain argocd/guestbook eu-west-1 fleet --context hub
  gitops-dsf explain guestbook us-east-1                      without scores: only whether the filters let it pass
  gitops-dsf explain DSF310                                   what a finding means; DSF3 lists the codes that begin so
""",
)
def explain(add: Arguments) -> None:
    add(
        "subject PLACEMENT|CODE",
        "namespace/name of a Placement, or the name alone if it is unique; or a code such as DSF310",
    )
    add("cluster [CLUSTER]", "name of a ManagedCluster; without it, the Placement is explained")
    add.fleet()
    add("--all", "every cluster of the ranking, not the first 20")
    add.output("text", "json")
    add.source()


@verb(
    "backtest",
    "show what would have been decided over the last weeks",
    description="""\
Takes the raw scores of the past (the metric dynamic_score, from any store that has Prometheus' HTTP API, or
from saved answers of one), applies what agents and OCM do with them, and shows what this repository would
have decided: moves, time on each cluster, moves back and forth and the score that caused them, and regret,
the points by which the decision was behind the best one. With --base it compares two revisions.""",
    examples="""\
examples:
  gitops-dsf backtest --prometheus https://thanos.example.com              the last 14 days of this repository
  gitops-dsf backtest --prometheus URL --base origin/main -o markdown           for the pull request
  gitops-dsf backtest --prometheus URL --days 30 --placement portal --advise    which stickiness would be better
  gitops-dsf backtest --history scores.json -o html > backtest.html  from an answer of /api/v1/query_range

exit codes: 0 fine; 1 when the repository has errors or the history cannot be read
""",
)
def backtest(add: Arguments) -> None:
    add.fleet()
    history = add.group("where the history comes from").one_of(required=True)
    history("--prometheus URL", "a store with Prometheus' HTTP API")
    history("--history PATH", "file or folder with saved answers of /api/v1/query_range")
    add("--token-file FILE", "with --prometheus: a bearer token, without quotes")
    add(
        "--credentials DIR",
        "with --prometheus: folder with the Secrets and ConfigMaps, as files NAME/KEY, that the "
        "repository names for the source at this URL",
    )
    add(
        "--header NAME:VALUE ...",
        "with --prometheus: a header of every request, such as X-Scope-OrgID:team",
    )
    add(
        "--cluster-label LABEL",
        f"label of {METRIC} that names the cluster ({CLUSTER_LABEL})",
        default=CLUSTER_LABEL,
    )
    add.span()
    add("--base REV", "compare with this revision, as diff does")
    add("--placement [NS/]NAME ...", "only this Placement; can be repeated")
    add(
        "--window SECONDS",
        "a cluster chosen again within this time counts as back and forth (%(default)g)",
        default=WINDOW_SECONDS,
    )
    add(
        "--advise",
        "try every stickiness, and several deadbands; demands, too, if there is a journal",
    )
    add.journal()
    add.output("text", "json", "markdown", "html")
    add(
        "--time-limit SECONDS",
        "leave out what is not read or decided by then, and say so; for pipelines",
    )
    add.source()


VERBS: Final = (diff, simulate, explain, backtest)
