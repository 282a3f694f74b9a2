/// The progress of a push at one moment.
struct ProgressSnapshot: Equatable, Sendable {
    /// The current step. All steps except `sending` are shown by name.
    enum Phase: Equatable, Sendable {
        /// Directories are read to find files.
        case scanning
        case connecting
        /// Bytes that were sent before are compared, so that sending continues after them.
        case resuming
        case sending
        /// Everything is sent; the server has yet to acknowledge.
        case committing
        /// The connection was lost, and the client tries to connect again.
        case reconnecting
        /// Every upload has its result.
        case finished
    }

    var phase: Phase = .sending

    /// The current files with their acknowledged bytes, in the order in which they began.
    var files: [FileProgress] = []

    /// The file that is being sent; it may contain any characters, and is escaped for display.
    var currentFile: String?

    /// Acknowledged bytes of the current file, including those of earlier attempts.
    var currentBytes: UInt64 = 0

    /// The size in bytes; nil for standard input.
    var currentSize: UInt64?

    /// Acknowledged bytes of all files, including those of earlier attempts.
    var totalBytes: UInt64 = 0

    /// The size of all files in bytes; nil while directories are read, and for standard input.
    var totalSize: UInt64?

    /// The number of files with a result, including failed ones.
    var filesDone = 0

    /// The number of all files; nil while directories are read.
    var filesTotal: Int?

    var failed = 0

    /// The smoothed rate. Zero means that it is unknown, and it is not shown then.
    var bytesPerSecond: Double = 0

    var secondsLeft: Double?
}
