"""Does a scoring API, in whatever language, keep the wire contract? Asks it over HTTP and reports what an
agent would stumble over.

Standard library and msgspec only; the caller hands in what can judge PromQL.
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
