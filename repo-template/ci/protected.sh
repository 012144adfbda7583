#!/bin/sh
# GitLab: fails if pipelines that anybody can change can read the token that may push. A pipeline runs the .gitlab-ci.yml of its own
# branch, so every developer can print a variable that is not protected. This script never prints the token.
set -eu

if [ "${CI_COMMIT_REF_PROTECTED:-false}" = true ]; then
    exit 0
fi
if [ -n "${GITOPS_DSF_PUSH_TOKEN:-}" ]; then
    echo "GITOPS_DSF_PUSH_TOKEN is readable in a pipeline of a branch that is not protected: every developer can print it." >&2
    echo "Settings > CI/CD > Variables: mark it Protected, then replace the token, which counts as known." >&2
    exit 1
fi
if [ "${CI_COMMIT_BRANCH:-}" = "${CI_DEFAULT_BRANCH:-main}" ]; then
    echo "$CI_COMMIT_BRANCH is not a protected branch, so that everybody who may push to it decides what Argo CD applies." >&2
    echo "Settings > Repository > Protected branches: protect it. Protected variables are then readable there, and nowhere else." >&2
    exit 1
fi
