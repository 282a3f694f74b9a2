import Testing

/// All tests with a running server, one after the other: each of them blocks in system calls and counts on an answer
/// within its time-outs, which dozens at once on few cores would not get.
@Suite(.serialized) enum ServerTests {}
