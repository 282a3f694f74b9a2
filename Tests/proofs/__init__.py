"""Runs every long proof within a given time, resumes what was interrupted, and writes docs/proofs.md."""
