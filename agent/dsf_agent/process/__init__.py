"""The process: builds the parts, runs them until SIGTERM, or checks every scorer once."""
