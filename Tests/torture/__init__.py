"""Kills servers and clients in the middle of pushes, and checks that every promise was kept."""
