"""Checks locks against specs: which value is used, and where metrics and tokens are sent."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.urls import host_of
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.scorer import Auth
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.overlay import Overlay, Setting


def locks_have_a_use(context: Context) -> Iterator[Diagnostic]:
    """A lock must belong to a Full scorer of the same name, with the same configURL."""
    for item in context.declared.locks:
        overlay = context.overlays.get(item.name)
        if overlay is None:
            hint = did_you_mean(item.name, context.overlays) or "remove the file"
            yield codes.STALE_LOCK.at(
                item.position, f"there is no DynamicScorer {item.name} for this lock", hint
            )
            continue
        spec = overlay.scorer.value.spec
        if spec.scored_by_query:
            message = f"{item.name} has scoring.type Query and no scoring API: this lock is not read"
            yield codes.STALE_LOCK.at(item.position, message, "remove the file")
        elif spec.config_sync_mode == "None":
            message = f"{item.name} has configSyncMode None: this lock is not read"
            yield codes.STALE_LOCK.at(
                item.position, message, "remove the file, or write configSyncMode: Full"
            )
        elif item.value.spec.config_url != spec.config_url:
            message = (
                f"this lock was taken from {item.value.spec.config_url}; the scorer now names"
                f" {spec.config_url}"
            )
            yield codes.STALE_LOCK.at(
                item.at("spec", "configURL"), message, f"run gitops-dsf sync --scorer {item.name}"
            )


def locks_do_not_overrule(context: Context) -> Iterator[Diagnostic]:
    """With Full, the lock overrides the spec. The author of a different value in the spec should know."""
    for overlay in context.overlays.values():
        for setting in _settings(overlay):
            path = _in_spec(setting)
            document = overlay.scorer.document
            if not setting.locked or not document.has(path):
                continue
            written = value_at(document.data, path)
            if written in {None, "", 0} or written == setting.value:
                continue
            message = (
                f"{dotted(path)} is {written} here, but the lock says {setting.value} ({setting.position}),"
                " and that counts"
            )
            yield codes.LOCK_OVERRULES.at(
                overlay.scorer.at(*path), message, "remove the field, or write configSyncMode: None"
            )


def locks_get_no_tokens(context: Context) -> Iterator[Diagnostic]:
    """A host that only a lock names must not receive a token. Otherwise a scoring API could collect the
    tokens of all clusters.
    """
    for overlay in context.overlays.values():
        spec = overlay.scorer.value.spec
        for setting, auth, written in (
            (overlay.source_host, spec.source.auth, spec.source.host),
            (overlay.scoring_host, spec.scoring.auth, spec.scoring.host),
        ):
            if not setting.locked or not _sends_token(auth) or _same_host(written, str(setting.value)):
                continue
            section = str(_in_spec(setting)[1])
            message = f"{section}.auth would send a token to {setting.value}, a host that only the lock names"
            hint = f"write {section}.host: {setting.value} into the scorer if that is where the token may go"
            yield codes.LOCK_WITH_TOKEN.at(overlay.scorer.at("spec", section, "auth"), message, hint)


def locks_keep_to_known_hosts(context: Context) -> Iterator[Diagnostic]:
    """A lock may use other hosts than the scorer only if spec.allowedHosts of the repository
    contains them.
    """
    repository = context.declared.repository
    allowed = repository.value.spec.allowed_hosts if repository is not None else []
    for overlay in context.overlays.values():
        spec = overlay.scorer.value.spec
        for setting, written in (
            (overlay.source_host, spec.source.host),
            (overlay.scoring_host, spec.scoring.host),
        ):
            section = str(_in_spec(setting)[1])
            # Without a scoring host, the origin of configURL is used. Without a source host, there is nothing
            # to compare.
            before = written or (spec.config_url if section == "scoring" else "")
            host, known = (host_of(url) or url for url in (str(setting.value), before))
            if (
                not setting.locked
                or not before
                or host == known
                or any(matches(host, pattern) for pattern in allowed)
            ):
                continue
            what = "metrics" if section == "scoring" else "queries"
            message = f"the lock of {overlay.scorer.name} sends {what} to {host} instead of {known}"
            hint = (
                f"write {section}.host: {setting.value} into the scorer, or add {host} to spec.allowedHosts"
                " in gitops-dsf.yaml"
            )
            yield codes.LOCK_MOVES_HOST.at(setting.position, message, hint)


def _settings(overlay: Overlay) -> tuple[Setting, ...]:
    """Fields that a lock may override. Hosts have their own rules."""
    return (
        overlay.source_type,
        overlay.source_path,
        overlay.query,
        overlay.range,
        overlay.step,
        overlay.scoring_path,
        overlay.score_name,
        overlay.interval,
    )


def _in_spec(setting: Setting) -> Path:
    """The path of a field in the scorer. Locks have the same fields below spec.config."""
    path = setting.path
    return ("spec", *path[2:]) if path[1] == "config" else path


def _sends_token(auth: Auth | None) -> bool:
    return auth is not None and (auth.token_secret_ref is not None or auth.service_account_token)


def _same_host(first: str, second: str) -> bool:
    return bool(first) and _origin(first) == _origin(second)


def _origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", url
    return parts.scheme.lower(), parts.netloc.lower()
