"""Speaks to the real server as programs do that are older than its protocol, and looks at what becomes of it."""
