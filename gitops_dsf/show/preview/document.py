"""A preview as JSON: its values, with the sentences of reasons and warnings."""

from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.preview.reasons import reason_text
from gitops_dsf.show.preview.warnings import warning_text
from gitops_dsf.views.preview.build import Preview
from gitops_dsf.views.preview.reasons import DecisionReason
from gitops_dsf.views.preview.warnings import ReviewWarning


def preview_json(preview: Preview) -> str:
    """Formats the output of `diff -o json`."""
    return json_text(preview, sentence=_sentence)


def _sentence(value: ReviewWarning | DecisionReason) -> str:
    return reason_text(value) if isinstance(value, DecisionReason) else warning_text(value)
