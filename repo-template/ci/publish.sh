#!/bin/sh
# Renders after a merge and pushes the changes: `publish.sh BRANCH`, where BRANCH is the branch that was merged into.
# With output.mode Directory rendered/ is committed to BRANCH. With output.mode Branch it is committed to spec.output.branch, which
# nobody else writes. If another push was faster, the script tries again on top of it. It never forces a push.
set -eu

source_branch=${1:?usage: publish.sh BRANCH}
attempts=${GITOPS_DSF_PUBLISH_ATTEMPTS:-5}

if [ "${CI:-}" != true ]; then
    echo "publish.sh is for pipelines: it checks out $source_branch and drops local changes (CI=true says that this is one)" >&2
    exit 2
fi

setting() {  # setting FIELD DEFAULT: a field of spec.output in gitops-dsf.yaml
    python3 -c 'import sys, yaml
with open("gitops-dsf.yaml", encoding="utf-8") as file:
    output = yaml.safe_load(file)["spec"].get("output") or {}
print(output.get(sys.argv[1], sys.argv[2]))' "$1" "$2"
}

# render_into FOLDER: renders, and fails if the folder has a file that no source renders to, because Argo CD would apply it.
render_into() {
    gitops-dsf render --out "$1"
    gitops-dsf render --out "$1" --check
}

# Commits rendered/ of the work tree $1 and pushes it to branch $2. Sets `pushed` to whether the branch has it now.
commit_and_push() {
    git -C "$1" add --all -- "${prefix}rendered"
    if git -C "$1" diff --cached --quiet; then
        echo "rendered/ on $2 is up to date"
        pushed=yes
        return
    fi
    git -C "$1" commit --quiet --message "Render $source_commit [skip ci]"
    if git -C "$1" push --quiet origin "HEAD:refs/heads/$2"; then
        echo "rendered/ on $2 is now the rendering of $source_commit"
        pushed=yes
    fi
}

publish_directory() {
    render_into rendered
    commit_and_push "$(git rev-parse --show-toplevel)" "$source_branch"
}

publish_branch() {
    target=$(setting branch gitops-dsf-rendered)
    if [ "$target" = "$source_branch" ]; then
        echo "spec.output.branch is $target, which people write: name another branch" >&2
        exit 1
    fi
    found=0
    git ls-remote --exit-code origin "refs/heads/$target" >/dev/null || found=$?
    case $found in
        0)
            git fetch --quiet --depth=1 origin "+refs/heads/$target:refs/remotes/origin/$target"
            start=refs/remotes/origin/$target
            ;;
        2)
            # The branch does not exist yet: create it without the history of the sources.
            start=$(git commit-tree -m "Begin $target" "$(git hash-object -t tree -w /dev/null)")
            ;;
        *)
            echo "cannot ask origin for $target" >&2
            exit 1
            ;;
    esac
    git worktree add --quiet --detach --force "$scratch/tree" "$start"
    render_into "$scratch/tree/${prefix}rendered"
    commit_and_push "$scratch/tree" "$target"
    git worktree remove --force "$scratch/tree"
}

git config user.name >/dev/null || git config user.name gitops-dsf
git config user.email >/dev/null || git config user.email gitops-dsf@users.noreply.invalid
prefix=$(git rev-parse --show-prefix)   # not empty if the fleet is a folder of a larger repository
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"; git worktree prune' EXIT

attempt=1
pushed=no
while [ "$attempt" -le "$attempts" ]; do
    git fetch --quiet origin "$source_branch"
    git checkout --quiet --detach --force FETCH_HEAD
    source_commit=$(git rev-parse --short HEAD)
    if [ "$(setting mode Directory)" = Branch ]; then
        publish_branch
    else
        publish_directory
    fi
    if [ "$pushed" = yes ]; then
        exit 0
    fi
    if [ "$attempt" -lt "$attempts" ]; then
        sleep "$attempt"
    fi
    attempt=$((attempt + 1))
done
echo "could not push the rendering of $source_commit in $attempts attempts; is this pipeline allowed to push?" >&2
exit 1
