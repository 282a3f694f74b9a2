"""Puts faults into the sources by hand, one at a time, and looks whether the tests notice each."""
