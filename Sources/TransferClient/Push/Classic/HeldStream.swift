import TransferModel

/// Takes a short stream into memory, for framings that say the size first. Called on the pool, for a while each time, so that
/// whoever waits for a slow one can be stopped.
///
/// `@unchecked Sendable`: the session hands it to one job of the pool at a time.
final class HeldStream: @unchecked Sendable {
    /// What came of reading for a while.
    enum Step {
        case more
        /// Nothing can be read before somebody lets go of what was.
        case noRoom
        case whole([UInt8])
    }

    private let stream: BlockStream
    private var bytes: [UInt8] = []

    init(_ stream: BlockStream) {
        self.stream = stream
    }

    /// Reads on.
    ///
    /// - Throws: `sourceUnreadable`, `unsuitable` for a stream that is too long.
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
                "This framing says the size first, and only 16 MiB of a stream are held for that; put it into a file.")
        }
    }
}
