import TransferModel
package import TransferProtocol

/// A session in which frames are spoken, as docs/PROTOCOL.md has them.
package protocol FrameSession: DrivenSession {
    var parser: FrameParser { get set }

    func send(_ message: Message)
}

extension FrameSession {
    package func sendPing() { send(.ping(0)) }
}

/// A session in which frames are spoken and whose work is done on a pool.
package protocol PipedFrameSession: FrameSession, PipedSession {
    /// - Returns: whether the next frame may be looked at: the session is not ending, and nothing is undecided.
    func take(_ message: Message, _ steps: Steps) throws(ProtocolFault) -> Bool

    /// - Parameter piece: its range counts from the first unparsed byte.
    func take(_ piece: DataPiece, _ steps: Steps) throws(ProtocolFault)
}

extension PipedFrameSession {
    package func step(_ steps: Steps) throws(ProtocolFault) -> FoundStep {
        let bytes = steps.unparsed
        guard !bytes.isEmpty else { return .needsMore }
        switch try parser.next(bytes.bytes) {
        case .needsMore: return .needsMore
        case .message(let message, let consumed):
            steps.consumed(consumed)
            return try take(message, steps) ? .step : .lastStep
        case .data(let piece, let consumed):
            try take(piece, steps)
            steps.consumed(consumed)
            return .step
        }
    }
}
