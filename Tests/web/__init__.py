"""Speaks HTTP to the real server with programs that others wrote. A package `http` here would hide Python's own."""
