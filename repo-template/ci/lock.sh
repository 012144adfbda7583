#!/bin/sh
# Writes requirements.txt from requirements.in: every package with its version and the hashes of its files. Existing versions stay,
# unless requirements.in asks for others. `sh ci/lock.sh --upgrade` takes the newest versions. Review the changes.
set -eu

if ! command -v uv >/dev/null; then
    echo "ci/lock.sh needs uv: pip install uv, or see https://docs.astral.sh/uv/" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-annotate --emit-find-links \
    --custom-compile-command "sh ci/lock.sh" --output-file requirements.txt "$@" requirements.in
if grep -q '^gitops-dsf==.*[^\\]$' requirements.txt; then
    echo "the package index gave no hash for gitops-dsf" >&2
    exit 1
fi
