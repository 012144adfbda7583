"""Codes about gitops-dsf.yaml: the git URL, and the images and pods of the programs."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

SETTINGS = FindingCode(
    "DSF023",
    Severity.ERROR,
    "gitops-dsf.yaml missing or without its FleetRepository",
    explanation="""
        Every fleet repository has a gitops-dsf.yaml with one FleetRepository. Nothing can be
        rendered without it: the git URL that Argo CD clones has no default. `gitops-dsf init
        DIR` shows what the file looks like.
        """,
    bad="""
        # gitops-dsf.yaml
        # No settings yet.
        """,
    good="""
        # gitops-dsf.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: FleetRepository
        metadata:
          name: fleet
        spec:
          git:
            url: https://git.example.com/team/fleet.git
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
          reconciler:
            image: registry.example.com/gitops-dsf-reconciler:0.1.0
        """,
)

IMAGE_WITHOUT_DIGEST = FindingCode(
    "DSF157",
    Severity.ERROR,
    "image without a digest",
    explanation="""
        With `spec.requireImageDigests` every image must name its digest. Anyone who can push to the
        registry can move a tag to another image, and the pods of all clusters would run it. `docker
        buildx imagetools inspect IMAGE` prints the digest.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          requireImageDigests: true
          reconciler: {enabled: false}
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          requireImageDigests: true
          reconciler: {enabled: false}
          agent:
            image: r.example.com/agent@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
        """,  # noqa: E501
)

DEAD_ROLLOUT = FindingCode(
    "DSF162",
    Severity.WARNING,
    "rollout that has no effect",
    explanation="""
        Each field of a rollout comes from the first entry that selects the cluster and has the
        field. Earlier entries set this field for all clusters of this entry, so it has no effect
        here. Move the entry up, or give it another clusterSelector.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            rollout:
              - clusterSelector: {matchLabels: {env: edge}}
                image: registry.example.com/gitops-dsf-agent:0.2.1
              - clusterSelector: {matchLabels: {env: edge}}
                image: registry.example.com/gitops-dsf-agent:0.3.0
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            rollout:
              - clusterSelector: {matchLabels: {env: edge}}
                image: registry.example.com/gitops-dsf-agent:0.2.1
              - clusterSelector: {matchLabels: {env: prod}}
                image: registry.example.com/gitops-dsf-agent:0.3.0
        """,
)

POD_PLACEMENT = FindingCode(
    "DSF169",
    Severity.ERROR,
    "node selector that Kubernetes refuses",
    explanation="""
        The API server would refuse the pod for its nodeSelector. On managed clusters that shows
        only in the status of an add-on. Keys and values of a nodeSelector are those of labels.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            nodeSelector: {role: a b}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            nodeSelector: {role: a-b}
        """,
)

POD_RESOURCES = FindingCode(
    "DSF170",
    Severity.ERROR,
    "request above its limit",
    explanation="""
        Kubernetes refuses a container that requests more than its limit. A section that names
        only a request or only a limit keeps the
        [default](docs/reference/fields/fleetrepository.md) of the other one. Write a larger limit,
        or a smaller request beside it.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
            resources: {limits: {memory: 64Mi}}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
            resources: {requests: {memory: 48Mi}, limits: {memory: 64Mi}}
        """,
)

PLACEHOLDER_URL = FindingCode(
    "DSF175",
    Severity.WARNING,
    "git URL that init wrote as an example",
    explanation="""
        `gitops-dsf init` wrote this URL as an example because it got no `--git-url`. Argo CD
        would find no repository there. Write the URL that Argo CD clones.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          git:
            url: https://git.example.com/platform/fleet.git
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          git:
            url: https://git.example.com/team/fleet.git
        """,
)

UNSET_IMAGE = FindingCode(
    "DSF191",
    Severity.NOTICE,
    "image that is in no registry",
    explanation="""
        No registry has our images yet, and gitops-dsf.yaml names none of yours, so no pod would
        start. Build the images with `make images` and push them to your registry; `gitops-dsf
        init --registry` writes their names.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            image:
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
        """,
)

IMAGE_VERSION = FindingCode(
    "DSF194",
    Severity.NOTICE,
    "image of another version",
    explanation="""
        An older agent does not know what a newer gitops-dsf renders, and the other way round: a
        new field would have no effect, without a message. Use gitops-dsf and images of one
        version. Entries of `spec.agent.rollout` do not count, nor do images of other names or
        without a version.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.0.1
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
        """,
)
