"""Checks gitops-dsf.yaml: its presence, its images, and the settings of pods.

Pods are checked as the API server does. On managed clusters the refusal of a pod shows only in the
status of an add-on.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dsf_wire import __version__
from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.published import REGISTRY
from gitops_dsf.repository.load import SETTINGS_FILE, Document, FieldPath
from gitops_dsf.repository.model.agent import Resources
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.reconciler import ReconcilerResources
from gitops_dsf.repository.model.repository import placeholder_url
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.label_selectors import KEY_RULE, VALUE_RULE, label_key, label_value
from gitops_dsf.resolve.rollout import settings_with
from gitops_dsf.resolve.rules.registry import SETTINGS, rule

_DIGEST: Final = re.compile(r"[^@]+@sha256:[0-9a-f]{64}")
"""An image with a digest. Registries also know sha512, but hardly any serves it."""
_VERSION: Final = re.compile(
    r"(?:.*/)?gitops-dsf-[a-z-]+:v?(?P<version>[0-9]+(?:\.[0-9]+){2}[^@]*)(?:@.*)?"
)
"""An image of ours with a version. A tag such as `main`, or a digest alone, does not contain it."""


class _Image(NamedTuple):
    """An image that is rendered."""

    section: FieldPath
    """The section of the settings, below `spec`."""
    name: str
    is_written: bool
    """Whether people wrote it; else it is the default."""

    @property
    def path(self) -> FieldPath:
        return ("spec", *self.section, "image")


@rule(needs=("FleetRepository",))
def settings_are_there(context: Context) -> Iterator[Diagnostic]:
    """gitops-dsf.yaml must contain one FleetRepository."""
    declared = context.declared
    # A file without content has a finding already, and is not missing.
    is_empty = any(finding.code == codes.EMPTY.id for finding in declared.diagnostics)
    if declared.repository is None and not is_empty:
        yield codes.SETTINGS.at(
            Position(file=SETTINGS_FILE),
            f"{SETTINGS_FILE} with a FleetRepository is missing",
            "gitops-dsf init DIR shows what it looks like",
        )


@rule(needs=(SETTINGS,))
def the_repository_is_named(context: Context) -> Iterator[Diagnostic]:
    """The URL that `init` writes when it is given none leads nowhere."""
    repository = context.repository
    url = repository.value.spec.git.url
    if url == placeholder_url(repository.name):
        yield codes.PLACEHOLDER_URL.at(
            repository.at("spec", "git", "url"),
            f"spec.git.url is {url}, which init wrote as an example: Argo CD finds no repository"
            " there",
            "write the URL that Argo CD clones",
        )


@rule(needs=(SETTINGS,))
def images_have_digests(context: Context) -> Iterator[Diagnostic]:
    """With spec.requireImageDigests, every image that is rendered must have a digest."""
    repository = context.repository
    if not repository.value.spec.require_image_digests:
        return
    for image in _images(context):
        if not _DIGEST.fullmatch(image.name):
            name = image.name.partition("@")[0]
            yield codes.IMAGE_WITHOUT_DIGEST.at(
                repository.at(*image.path),
                f"spec.requireImageDigests is true, but {dotted(image.path[1:])} is {image.name},"
                " without a digest",
                f"write image: {name}@sha256:...; docker buildx imagetools inspect {name} prints"
                " the digest",
            )


@rule(needs=(SETTINGS,))
def images_are_set(context: Context) -> Iterator[Diagnostic]:
    """Our images must be named as long as no registry has them."""
    # Before the first release no registry is named: whoever reserved the name could put any image
    # there.
    if REGISTRY is not None:
        return
    unset = [image for image in _images(context) if not image.is_written]
    if not unset:
        return
    fields = [dotted(image.path[1:]) for image in unset]
    assignments = [f"{dotted(image.path[1:])}: REGISTRY/{image.name}" for image in unset]
    yield codes.UNSET_IMAGE.at(
        context.repository.at("spec", *unset[0].section),
        f"spec has no {' and no '.join(fields)}, and no registry has our images: no pod will start",
        f"build the images, push them to a registry of yours, and write {'; '.join(assignments)}",
    )


@rule(needs=(SETTINGS,))
def images_are_of_this_version(context: Context) -> Iterator[Diagnostic]:
    """An older agent does not know what a newer gitops-dsf renders.

    The entries of a rollout have another version on purpose.
    """
    for image in _images(context):
        match = _VERSION.fullmatch(image.name)
        # The default image has the version of this program.
        if not image.is_written or match is None or "rollout" in image.section:
            continue
        if match["version"] != __version__:
            yield codes.IMAGE_VERSION.at(
                context.repository.at(*image.path),
                f"{dotted(image.path)} is version {match['version']}, and this gitops-dsf is"
                f" {__version__}: a feature that only one of them knows has no effect",
                "use gitops-dsf and images of one version",
            )


@rule(needs=(SETTINGS,))
def pods_are_accepted(context: Context) -> Iterator[Diagnostic]:
    """Checks node selectors and resources as Kubernetes does.

    Of an entry of the rollout what it says, and its resources as they are on its clusters.
    """
    document = context.repository.document
    spec = context.repository.value.spec
    for name, settings in (
        ("agent", spec.agent),
        ("hubScorer", spec.hub_scorer),
        ("reconciler", spec.reconciler),
    ):
        yield from _nodes(document, ("spec", name), settings.node_selector)
        # The defaults are right, and stand in no file that a finding could point to.
        if "resources" in settings.model_fields_set:
            yield from _resources(document, ("spec", name), settings.resources)
    for index, entry in enumerate(spec.agent.rollout):
        path: FieldPath = ("spec", "agent", "rollout", index)
        yield from _nodes(document, path, entry.node_selector or {})
        if entry.resources is not None:
            yield from _resources(document, path, settings_with(spec.agent, (index,)).resources)


def _images(context: Context) -> Iterator[_Image]:
    """The images that are rendered."""
    if not context.is_upstream:
        yield from _images_of_scorers(context)
    reconciler = context.repository.value.spec.reconciler
    if reconciler.enabled:
        is_written = "image" in reconciler.model_fields_set
        yield _Image(("reconciler",), reconciler.image, is_written)


def _images_of_scorers(context: Context) -> Iterator[_Image]:
    """The images of what publishes scores, where that is ours."""
    spec = context.repository.value.spec
    yield _Image(("agent",), spec.agent.image, "image" in spec.agent.model_fields_set)
    for index, entry in enumerate(spec.agent.rollout):
        if entry.image is not None:
            yield _Image(("agent", "rollout", index), entry.image, is_written=True)
    receiver = spec.agent.open_telemetry
    if receiver is not None:
        yield _Image(("agent", "openTelemetry"), receiver.image, is_written=True)
    writing = spec.agent.remote_write
    if writing is not None:
        yield _Image(("agent", "remoteWrite"), writing.image, is_written=True)
    runs_on_hub = any(scorer.value.spec.on_hub for scorer in context.declared.scorers)
    if runs_on_hub and spec.hub_scorer.image is not None:
        yield _Image(("hubScorer",), spec.hub_scorer.image, is_written=True)


def _nodes(
    document: Document, path: FieldPath, selector: Mapping[str, str]
) -> Iterator[Diagnostic]:
    for key, value in selector.items():
        key_path = (*path, "nodeSelector", key)
        if not label_key(key):
            message = f"{key or 'an empty key'} is not a label key"
            yield codes.POD_PLACEMENT.at(document.key_at(key_path), message, KEY_RULE)
        if not label_value(value):
            message = f"{value} is not a label value"
            yield codes.POD_PLACEMENT.at(document.at(key_path), message, VALUE_RULE)


def _resources(
    document: Document, path: FieldPath, resources: Resources | ReconcilerResources
) -> Iterator[Diagnostic]:
    """A request above its limit."""
    names = sorted(resources.requests.keys() & resources.limits.keys())
    if not names:
        return
    from gitops_dsf.simulator.quantity import parse  # noqa: PLC0415 - slow, and rarely needed

    for name in names:
        request = resources.requests[name]
        limit = resources.limits[name]
        if parse(request).value > parse(limit).value:
            yield codes.POD_RESOURCES.at(
                document.at((*path, "resources", "limits", name)),
                f"{dotted((*path[1:], 'resources'))}: the request of {request} {name} is above the"
                f" limit of {limit}",
                "write a larger limit, or a smaller request beside it",
            )
