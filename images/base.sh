#!/bin/sh
# A base for images/Containerfile where the public Python image cannot be pulled: Debian 12 with its own Python 3.11, as an image of buildah.
#   sh images/base.sh [NAME] && make images BASE=NAME
# As root, with apt-get install buildah mmdebstrap. The base trusts the certificates of this machine.
set -eu
image=${1:-localhost/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trusted=/etc/ssl/certs/ca-certificates.crt
mkdir -p "$work/etc/ssl/certs" "$work/etc/uv"
cp "$trusted" "$work/etc/ssl/certs/"
printf '[global]\ncert = %s\n' "$trusted" >"$work/etc/pip.conf"
echo 'system-certs = true' >"$work/etc/uv/uv.toml"
# `python` and pip are in /usr/local, and documents and translations are left out, as in the public image.
mmdebstrap --quiet --variant=required --include=apt,ca-certificates,python3,python3-venv \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook="copy-in $work/etc /" --customize-hook='chroot "$1" python3 -m venv --copies /usr/local' \
  bookworm "$work/base.tar"
container=$(buildah from scratch)
buildah add --quiet "$container" "$work/base.tar" / >/dev/null
buildah config --env PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin --cmd python3 "$container"
buildah commit --quiet --rm "$container" "$image" >/dev/null
