"""Duty: what differs from git comes back to git as a commit on a branch of its own, for people to merge or to
refuse.

`worker` works changes out, in a process of its own, on files of the protected branch; `decide` says what to
do about them (pure); `desk` does it with git and the forge; `duty` looks every minute. Nothing is remembered
that git and the forge do not know, but for what only delays: how often something was seen, and when something
was pushed.
"""
