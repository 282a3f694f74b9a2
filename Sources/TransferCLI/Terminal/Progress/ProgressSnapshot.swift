/// How far a push is at a moment.
struct ProgressSnapshot: Equatable, Sendable {
    /// What is being done; only `sending` speaks for itself.
    enum Phase: Equatable, Sendable {
        /// Walking through directories.
        case scanning
        case connecting
        /// Reading what was sent before, to go on from there.
        case resuming
        case sending
        /// Everything is sent; the server has yet to acknowledge.
        case committing
        /// The connection was lost and is tried again.
        case reconnecting
        /// Everything has its result.
        case finished
    }

    var phase: Phase = .sending

    /// Files that are under way and have some bytes acknowledged, the one that began first at the front.
    var files: [FileProgress] = []

    /// The file that is being sent; any text, it is escaped when shown.
    var currentFile: String?

    /// Acknowledged bytes of the current file, those of earlier attempts included.
    var currentBytes: UInt64 = 0

    /// Unknown for standard input.
    var currentSize: UInt64?

    /// Acknowledged bytes of all files, those of earlier attempts included.
    var totalBytes: UInt64 = 0

    /// Unknown while directories are read and for standard input.
    var totalSize: UInt64?

    /// Files that have their result, failed ones included.
    var filesDone = 0

    /// Unknown while directories are read.
    var filesTotal: Int?

    var failed = 0

    /// Smoothed; zero means unknown and is not shown.
    var bytesPerSecond: Double = 0

    var secondsLeft: Double?
}
