"""Speaks to the real server as programs do that are older than its protocol, and checks the stored uploads."""
