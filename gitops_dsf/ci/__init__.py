"""What the pipeline of a fleet repository does: comment on a pull request, and publish rendered/.

`environment` reads what the forge says about the run, `comment` writes the preview to the pull
request, and `publish` pushes what is rendered. `gitops-dsf ci` runs where the extra `live` is not
installed, so requests go out by the standard library alone (`sender`).
"""
