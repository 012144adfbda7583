"""What the process is told to do: flags, the mounted file of scorers, and the suspended scorers."""
