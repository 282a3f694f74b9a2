"""Clients of the classic framings, written from their descriptions and without the server's code."""
