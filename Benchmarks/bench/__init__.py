"""Pushes the same files with this project's program and with others, in turn, and reports the time and the resources
that each used.

Only the standard library is used. `make bench` runs the benchmarks; CONTRIBUTING.md has more about them.
"""
