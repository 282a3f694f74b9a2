/// What the program finds when it starts.
struct Surroundings {
    /// Another program to run; nothing means the one under test.
    var executable: String?

    /// Where a stream of the program leads.
    enum Stream: Equatable {
        /// A pipe that the test holds the other end of.
        case pipe
        /// A terminal of that many columns that the test holds the other end of.
        case terminal(columns: UInt16)
        case file(String)
        /// Of standard output: wherever standard error leads.
        case joined
        /// A pipe that nobody reads.
        case brokenPipe
        case closed
    }

    /// All of it; nothing of the test's own environment is inherited.
    var environment = ["HOME": "/nonexistent", "PATH": "/usr/bin:/bin"]

    /// The working directory; nothing means that of the test.
    var directory: String?

    /// Standard input: a pipe, a file or closed.
    var input = Stream.file("/dev/null")

    var output = Stream.pipe

    var errors = Stream.pipe

    /// Whether the terminal of standard error is the one that the process is controlled by, with somebody at it.
    var ownsTerminal = false

    /// A socket of the test's that it gets as the first descriptor of a service manager's (sd_listen_fds(3)).
    var listener: Int32?

    /// Another descriptor of the test's that it gets as its descriptor 3.
    var passed: Int32?

    /// The most descriptors that it can ever have, as a hard limit.
    var descriptorLimit: Int?
}
