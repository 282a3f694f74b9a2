/// The progress of one file.
struct FileProgress: Equatable, Sendable {
    /// The current step of the upload.
    enum Phase: String, Equatable, Sendable {
        /// The part that the server already has is being compared.
        case resuming
        case sending
        /// Everything is sent; the server has yet to acknowledge it.
        case committing
    }

    /// The path of the source. It may contain any characters, and is escaped for display.
    var source: String

    var phase = Phase.sending

    /// Acknowledged bytes, including those of earlier attempts.
    var bytes: UInt64 = 0

    /// The size in bytes; nil for standard input.
    var size: UInt64?
}
