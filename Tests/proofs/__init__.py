"""Runs every long proof within a given time, resumes interrupted proofs, and writes docs/proofs.md."""
