"""Speaks HTTP to the real server with other people's programs. A package named `http` here would hide Python's own."""
