"""The verb `gitops-dsf scorer`: the command of the scorer SDK, and the action try.

It also checks the PromQL in /config.
"""

import argparse

from dsf_scorer import command
from dsf_scorer.conformance import JudgedMistake
from dsf_scorer.errors import ScorerError
from dsf_scorer.errors import UsageError as ScorerUsageError
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.resolve.promql.check import check


def run(args: argparse.Namespace) -> int:
    """Returns the exit code of the command. Its errors are those of gitops-dsf."""
    if args.action == "try":
        from gitops_dsf.cli import tryscorer  # with the agent, which other actions do not need

        return tryscorer.run(args)
    # The SDK is installed without gitops-dsf, so it has errors of its own, and no reader of PromQL.
    try:
        return command.run(args, judge_query=_judge_query)
    except ScorerUsageError as error:
        raise UsageError(str(error)) from error
    except ScorerError as error:
        raise GitopsDsfError(str(error)) from error


def _judge_query(text: str) -> list[JudgedMistake]:
    """The mistakes of a query. Only a function that is not known can be too new."""
    judgements: list[JudgedMistake] = []
    for mistake in check(text).mistakes:
        # The SDK knows no hints, so that it depends on nothing of ours.
        message = mistake.message
        if mistake.hint:
            message += f" ({mistake.hint})"
        # promql-parser lags behind Prometheus, so an unknown function is only a warning.
        judgements.append(JudgedMistake(mistake.offset, message, mistake.kind == "function"))
    return judgements
