"""The configuration of the process: flags, and the mounted file of scorers."""
