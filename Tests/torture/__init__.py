"""Kills servers and clients in the middle of pushes, and looks whether every promise was kept."""
