"""The configuration of the process: flags, the mounted file of scorers, and the suspended scorers."""
