"""The verbs for a hub, and the programs that run in clusters: their help and their arguments."""

import argparse
from pathlib import Path
from typing import Final

from gitops_dsf.cli.arguments import (
    add_context,
    add_credentials,
    add_directory,
    add_headers,
    add_hub,
    add_journal,
    add_kubeconfig,
    add_output,
    add_source,
    add_span,
    add_token_file,
    add_waiting,
    moment,
)
from gitops_dsf.cli.verb import verb


@verb(
    "install",
    "install on a hub: from Argo CD to a running loop",
    description="""\
Installs gitops-dsf on a hub that has Open Cluster Management and Argo CD, from a fleet repository
that is rendered and pushed. Checks what the installation needs, applies the health checks for
Argo CD and rendered/argocd, waits until Argo CD has applied the tree from git and a reconciler
leads, and ends with the findings of doctor. Argo CD applies everything else. Running it again
changes only what differs.""",
    examples="""\
examples:
  gitops-dsf install --context hub            from the repository in this folder
  gitops-dsf install --context hub --dry-run  check everything; the hub validates the objects and
                                              stores none
  gitops-dsf install fleet --context hub --repo https://git.example.com/team/fleet.git
                                              set spec.git.url first, and render again
  gitops-dsf install --context hub --no-wait  apply, and leave the rest to Argo CD

exit codes: 0 installed; 1 a check failed, the hub refused an object, the loop does not run in
time, or doctor finds an error; 2 wrong usage; 3 a bug of gitops-dsf; 130 interrupted
""",
)
def install(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    add_context(parser)
    parser.add_argument(
        "--repo",
        metavar="URL",
        help="URL of the repository as Argo CD clones it; it is written to spec.git.url in"
        " gitops-dsf.yaml",
    )
    add_waiting(parser, until="the loop runs", dry_run="check everything, and change nothing")


@verb(
    "uninstall",
    "remove what is installed; applications stay",
    description="""\
Removes gitops-dsf from a hub: the Applications of the rendered tree, the reconciler,
ApplicationSets and Placements, the agents and what they run, scorers, rights, policies, and the
health checks in argocd-cm. It finds them by their labels. It also removes what the reconciler
wrote: its Lease and ConfigMaps, the scores of paced moves, and the taint that a Maintenance puts
on clusters. Applications that were placed stay where they run, unless --delete-applications is
given. Without --context it asks first. It ends with a list of what stays and why. Running it
again finishes what an earlier run could not.""",
    examples="""\
examples:
  gitops-dsf uninstall --context hub --dry-run  what would be deleted, and what stays
  gitops-dsf uninstall --context hub
  gitops-dsf uninstall --context hub --no-wait  for a fleet with clusters that will never answer
                                                again
""",
)
def uninstall(parser: argparse.ArgumentParser) -> None:
    add_hub(parser)
    add_waiting(
        parser,
        until="the managed clusters have removed the agents",
        dry_run="delete nothing, and print what would be deleted",
    )
    parser.add_argument(
        "--delete-applications",
        action="store_true",
        help="also delete the placed applications, with their workloads",
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not ask whether the current context is meant"
    )


@verb(
    "doctor",
    "find what is wrong, with the command that fixes it",
    description="""\
Checks everything on a hub that scoring needs: OCM and its feature gates, the agents, Argo CD and
how far it applied the rendered tree, whether the upstream add-on runs as well, scores, the
reconciler, and clocks. Each finding has the command that fixes it. It reads the hub and writes
nothing; of Secrets it reads only the metadata. What it may not read is "unknown", with the right
that is missing.""",
    examples="""\
examples:
  gitops-dsf doctor --context hub           every check; exit with 1 for an error
  gitops-dsf doctor --context hub --strict  exit with 1 for a warning, too
  gitops-dsf doctor --context hub -o json   for programs: {"hub", "findings": [{check, state,
                                            message, fix}], "summary"}""",
)
def doctor(parser: argparse.ArgumentParser) -> None:
    add_hub(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings, too")
    add_output(parser, "text", "json")


@verb(
    "status",
    "show scores, decisions and applications",
    description="""\
Shows the state of scoring on a hub. For each scorer: its health, and on how many clusters its
scores are fresh, expired or missing, with age and value. For each Placement: its decision, and
the nearest score that would flip it. For each application: where it should be and where it is. It
also shows which paced moves are under way or wait, and where applications would go if a cluster
failed. It reads the hub and writes nothing. What it may not read, or what is not installed, is
named and left out.""",
    examples="""\
examples:
  gitops-dsf status --context hub          everything; long lists are summarised
  gitops-dsf status --context hub --scorer cpu-headroom
                                           one scorer on every cluster, and what ranks by it
  gitops-dsf status --context hub --cluster eu-west-1
                                           one cluster: its scores, and what would move applications
                                           to it or away from it
  gitops-dsf status --context hub -o json  every score, for programs
  gitops-dsf status --context hub -o html > fleet.html
                                           a page: what is wrong first, scores as a heat map, moves

It exits with 0 whatever it shows, and with 1 if the hub, or a part of it, cannot be read.
`gitops-dsf doctor` judges the state.""",
)
def status(parser: argparse.ArgumentParser) -> None:
    add_hub(parser)
    parser.add_argument(
        "--scorer",
        metavar="NAME",
        help="only this scorer (its name or its score name), and what ranks by it",
    )
    parser.add_argument(
        "--placement",
        metavar="[NS/]NAME",
        help="only this Placement, its scorers and its applications",
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="only this cluster, and what would move applications to it or away from it",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="show every score, Placement and application instead of summaries",
    )
    # An option here and not the first word as elsewhere: status is about a hub, and works without a
    # clone of the fleet.
    parser.add_argument(
        "--repository",
        metavar="DIR",
        dest="directory",
        type=Path,
        default=Path(),
        help="with -o html: clone of the fleet repository, to which names link and which has the"
        " journal; this folder by default",
    )
    add_journal(parser)
    add_output(parser, "text", "json", "html")


@verb(
    "log",
    "list past moves from the journal, and explain the last one",
    description="""\
Lists the changes of OCM's decisions that the reconciler wrote into the journal: the time, the old
and the new clusters, and the cause, which is a score, the pace, a drain, a lost cluster, or an
edit in git with its commit. For one application it also explains the last change, or the last one
up to --at: which scores had changed, and how many points each score added to the old and to the
new cluster, in the words of `gitops-dsf explain`. It fetches the branch of the journal first, and
its first line says how old the journal is.""",
    examples="""\
examples:
  gitops-dsf log         all moves of the last 14 days
  gitops-dsf log portal  those of one application, and why it moved last
  gitops-dsf log portal --at 2026-06-01T03:15:00Z
                         why it was where it was at that time
  gitops-dsf log --from 2026-06-01T00:00:00Z -o json
""",
)
def log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "application",
        metavar="APP",
        nargs="?",
        help="ScoredApplication, ApplicationSet, or Placement with or without its namespace; all by"
        " default",
    )
    add_directory(parser)
    add_journal(parser, fetches=True)
    add_span(parser)
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=moment,
        help="explain only the last move of APP up to this time",
    )
    add_output(parser, "text", "json")


@verb(
    "reconcile",
    "run the reconciler on the hub",
    description="""\
Runs beside Argo CD on the hub until it is stopped. It probes every DynamicScorer and writes its
status: health, whether /config still says what was accepted, and on how many clusters scores are
fresh. It asks Argo CD to read a placement decision as soon as the decision changed. With the
moves.strategy MakeBeforeBreak it deletes the old copy of an application that moved when the new
copy is healthy. spec.reconciler of gitops-dsf.yaml says what else it does, such as proposals, the
state branch and the journal.

Replicas elect a leader by a Lease. Of Argo CD's objects the reconciler writes only the annotations
that ask for a refresh, and it deletes only such Applications.""",
    examples="""\
examples:
  gitops-dsf reconcile --config /etc/gitops-dsf/gitops-dsf.yaml
                                      on the hub, with the account of the pod
  gitops-dsf reconcile --context hub  from outside, in the folder of the fleet

The log is JSON on standard error. /metrics, /healthz and /readyz are on --metrics-address.""",
)
def reconcile(parser: argparse.ArgumentParser) -> None:
    # Not `add_context`, which takes the current context by default: in a pod there is none.
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="context of the kubeconfig; without it and --kubeconfig, the account of the pod",
    )
    add_kubeconfig(parser, help_text="kubeconfig file")
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        default=Path("gitops-dsf.yaml"),
        help="file of the FleetRepository, read once at the start (%(default)s)",
    )
    parser.add_argument(
        "--metrics-address",
        metavar="HOST:PORT",
        # The rendered Deployment names another address. Outside of a pod only this machine should
        # read the metrics.
        default="127.0.0.1:8080",
        help="address to serve metrics on (%(default)s); port 0 takes a free port",
    )
    parser.add_argument(
        "--placement-namespace",
        metavar="NAME",
        action="append",
        default=[],
        help="namespace besides Argo CD's whose decisions go into the snapshot; may be repeated",
    )
    parser.add_argument(
        "--multikueue-namespace",
        metavar="NAME",
        action="append",
        default=[],
        help="namespace of Placements by which MultiKueueConfigs are ordered; may be repeated",
    )
    parser.add_argument(
        "--git-credentials",
        metavar="DIR",
        type=Path,
        help="mounted Secret with token, or username and password, or ssh-privatekey and"
        " known_hosts",
    )
    # Folders of their own, so that no scorer can name a Secret of git or of the metric store.
    parser.add_argument(
        "--credentials",
        metavar="DIR",
        type=Path,
        help="mounted Secrets that scoring.auth names, each value in the file <secret>/<key>",
    )
    parser.add_argument(
        "--store-credentials",
        metavar="DIR",
        type=Path,
        help="mounted Secrets that metricStore.auth names, each value in the file <secret>/<key>",
    )
    parser.add_argument(
        "--work-dir",
        metavar="DIR",
        type=Path,
        help="folder for the shallow clone (a temporary folder by default)",
    )


@verb("scorer", "run, check or start a scoring API, or try a scorer")
def scorer(parser: argparse.ArgumentParser) -> None:
    # The SDK has its own command for people without gitops-dsf, and its actions are added here.
    from dsf_scorer import command

    actions = command.add_arguments(parser)
    _add_try(
        actions.add_parser(
            "try",
            help="run one cycle of a DynamicScorer before it is merged",
            description="""\
Runs one cycle of a scorer of this fleet repository as it is written, with the code of the agent:
asks the store for its series, calls its scoring API if it has one, and shows results, raw scores,
items and values, what is dropped and why, and how the values lie in scoreRange. It publishes
nothing. With the scores of a hub it also says what the Placements would make of the values.""",
            epilog="""\
examples:
  gitops-dsf scorer try cpu-headroom --prometheus https://prometheus.example.com
  gitops-dsf scorer try cpu-headroom --prometheus URL --cluster eu-1 --at 2026-06-01T08:00:00Z
  gitops-dsf scorer try cpu-headroom --prometheus URL --context hub -o json
  gitops-dsf scorer try --changed --base origin/main --prometheus URL

exit codes: 0 there are scores; 1 there are none, or the repository has errors; 2 wrong usage
""",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
    )


def _add_try(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scorer", metavar="NAME", nargs="?", help="name of the DynamicScorer")
    add_directory(parser)
    parser.add_argument(
        "--changed",
        action="store_true",
        help="in place of NAME: one line for each scorer that gives or publishes other scores than"
        " that of --base; no scoring API is called",
    )
    parser.add_argument(
        "--prometheus",
        metavar="URL",
        help="store with Prometheus' HTTP API that is asked in place of the scorer's source",
    )
    add_token_file(parser)
    add_credentials(parser)
    add_headers(parser)
    parser.add_argument(
        "--base",
        metavar="REV",
        help="the revision of --changed, and the one that says which hosts see --credentials; for"
        " that the working tree by default",
    )
    parser.add_argument(
        "--cluster",
        metavar="CLUSTER",
        help="run the cycle of this cluster; by default the first one on which the scorer runs, on"
        " the hub all",
    )
    parser.add_argument(
        "--at", metavar="TIME", type=moment, help="ask as of this time; now by default"
    )
    add_output(parser, "text", "json", "markdown")
    add_source(parser)


VERBS: Final = (install, uninstall, doctor, status, log)
PROGRAMS: Final = (reconcile, scorer)
