"""The pipeline of a fleet repository: it comments on a pull request, and publishes rendered/.

`environment` reads the variables of the forge about the run, `comment` writes the preview to the
pull request, and `publish` pushes the rendered tree. `gitops-dsf ci` runs where the extra `live` is
not installed, so requests go out by the standard library alone (`sender`).
"""
