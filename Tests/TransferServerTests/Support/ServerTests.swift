import Testing

/// All tests with a running server, one after the other. Each of them blocks in system calls, and dozens at once on few
/// cores would wait for each other.
@Suite(.serialized) enum ServerTests {}
