#!/bin/sh
# Adds to the preview of a pull request what it would have done over the last two weeks: `sh ci/backtest.sh BASE preview.md`.
# It does so if GITOPS_DSF_PROMETHEUS is set: the URL of a store with the metric dynamic_score. GITOPS_DSF_PROMETHEUS_TOKEN is a bearer
# token, if the store wants one. It takes at most a minute. It needs "gitops-dsf[backtest]" in requirements.in. A failure stops no pull
# request: the comment says that there was one, and the log says why.
set -eu

base=$1 comment=$2
[ -n "${GITOPS_DSF_PROMETHEUS:-}" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set -- --prometheus "$GITOPS_DSF_PROMETHEUS" --base "$base" --state-branch gitops-dsf-state --time-limit 60
if [ -n "${GITOPS_DSF_PROMETHEUS_TOKEN:-}" ]; then
    printf '%s' "$GITOPS_DSF_PROMETHEUS_TOKEN" > "$work/token"
    set -- "$@" --token-file "$work/token"
fi
if ! gitops-dsf backtest "$@" --format markdown > "$work/backtest.md"; then
    printf '### What this would have done\n\nThe backtest failed. The log of the pipeline says why.\n' > "$work/backtest.md"
fi
# A comment has at most 65,536 characters.
if [ "$(cat "$comment" "$work/backtest.md" | wc -m)" -gt 65000 ]; then
    cat "$work/backtest.md"
    printf '### What this would have done\n\nThere is no room for the backtest here. It is in the log of the pipeline.\n' > "$work/backtest.md"
fi
{ echo; cat "$work/backtest.md"; } >> "$comment"
