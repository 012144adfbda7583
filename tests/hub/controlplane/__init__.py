"""The real programs that the hub suite talks to.

Obtained, started on 127.0.0.1, watched and stopped.
"""
