import TransferModel

/// Reads a short stream into memory, for framings that state the size first. It runs on the pool in short turns, so
/// that a push that waits for a slow stream can be cancelled.
///
/// `@unchecked Sendable`: the session gives it to one job of the pool at a time.
final class HeldStream: @unchecked Sendable {
    /// The outcome of one turn of reading.
    enum Step {
        case more
        /// All blocks of the stream are in use.
        case noRoom
        case whole([UInt8])
    }

    private let stream: BlockStream
    private var bytes: [UInt8] = []

    init(_ stream: BlockStream) {
        self.stream = stream
    }

    /// Reads the stream for one turn.
    ///
    /// - Throws: `sourceUnreadable`, or `unsuitable` if the stream is too long.
    func readOn() throws(Failure) -> Step {
        switch try stream.read() {
        case .more: return .more
        case .noRoom: return .noRoom
        case .block(let block):
            try hold(block)
            return .more
        case .end(let block):
            if let block { try hold(block) }
            return .whole(bytes)
        }
    }

    private func hold(_ block: StreamBlock) throws(Failure) {
        bytes += block.bytes
        guard bytes.count <= ClassicTarget.mostHeld else {
            throw .unsuitable(
                "This framing sends the size first, so a stream may have at most 16 MiB; save it to a file to push it.")
        }
    }
}
