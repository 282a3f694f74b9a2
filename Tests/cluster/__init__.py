"""Engines of a cluster (PostgreSQL and servers that speak S3), and proxies in front of them that make faults."""
