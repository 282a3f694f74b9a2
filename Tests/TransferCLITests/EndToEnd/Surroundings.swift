/// The environment, streams and limits that the program starts with.
struct Surroundings {
    /// Another program to run; nil for the one under test.
    var executable: String?

    /// Where a stream of the program leads.
    enum Stream: Equatable {
        /// A pipe whose other end the test holds.
        case pipe
        /// A terminal of that many columns, whose other end the test holds.
        case terminal(columns: UInt16)
        case file(String)
        /// For standard output only: the same stream as standard error.
        case joined
        /// A pipe that is closed at the reading end.
        case brokenPipe
        case closed
    }

    /// The complete environment; the program inherits no variables of the test.
    var environment = ["HOME": "/nonexistent", "PATH": "/usr/bin:/bin"]

    /// The working directory; nil for that of the test.
    var directory: String?

    /// Standard input: a pipe, a file or closed.
    var input = Stream.file("/dev/null")

    var output = Stream.pipe

    var errors = Stream.pipe

    /// Whether the terminal of standard error controls the process, as if a user sat at it.
    var ownsTerminal = false

    /// A socket of the test that the program gets as the first descriptor from a service manager (sd_listen_fds(3)).
    var listener: Int32?

    /// Another descriptor of the test, which the program gets as its descriptor 3.
    var passed: Int32?

    /// Hard limit on the number of descriptors.
    var descriptorLimit: Int?
}
