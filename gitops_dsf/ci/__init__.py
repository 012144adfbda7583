"""What the pipeline of a fleet repository does: comment on a pull request, and publish."""
