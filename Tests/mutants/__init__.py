"""Places hand-written faults in the sources, one at a time, and checks that the tests notice each."""
