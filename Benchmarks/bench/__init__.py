"""Pushes the same files with this project's program and with others, in turn, and reports what each took.

Only the standard library is used. `make bench` is how to run it; CONTRIBUTING.md tells more.
"""
