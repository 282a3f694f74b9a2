/// How far one file is.
struct FileProgress: Equatable, Sendable {
    /// What is being done with it.
    enum Phase: String, Equatable, Sendable {
        /// What the server has of it is compared.
        case resuming
        case sending
        /// Everything is sent; the server has yet to acknowledge it.
        case committing
    }

    /// Any text; it is escaped when shown.
    var source: String

    var phase = Phase.sending

    /// Acknowledged, those of earlier attempts included.
    var bytes: UInt64 = 0

    /// Unknown for standard input.
    var size: UInt64?
}
