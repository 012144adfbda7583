"""Git for a long-running process.

Each controller has its own clone, so that none waits for another.
"""
