"""Clients of the classic framings, written from their descriptions and from nothing in the server."""
