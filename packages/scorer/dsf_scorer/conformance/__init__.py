"""Checks over HTTP whether a scoring API, in any language, follows the wire contract.

Needs only the standard library and msgspec. The caller passes a function that checks PromQL.
"""

from dsf_scorer.conformance.config import JudgeQuery, QueryMistake
from dsf_scorer.conformance.data import DataError, Sample, read_sample
from dsf_scorer.conformance.exchange import Client, HttpClient
from dsf_scorer.conformance.finding import Finding, Report, Severity
from dsf_scorer.conformance.run import check
from dsf_scorer.conformance.target import Target, TargetError

__all__ = [
    "Client",
    "DataError",
    "Finding",
    "HttpClient",
    "JudgeQuery",
    "QueryMistake",
    "Report",
    "Sample",
    "Severity",
    "Target",
    "TargetError",
    "check",
    "read_sample",
]
