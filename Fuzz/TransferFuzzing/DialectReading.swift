import TransferClassic

/// Result of a classic framing for a stream that arrives in pieces: its steps, with connected content in one piece and
/// without steps that have no meaning, and the fault at the end.
struct DialectReading: Equatable {
    private(set) var steps: [ClassicStep] = []
    private(set) var fault: ClassicFault?

    /// Whether the stream could end after its last byte; false after a fault.
    private(set) var isBetweenMessages = false

    /// Number of bytes that were not consumed; 0 after a fault.
    private(set) var left = 0

    /// - Parameter ends: how many bytes of the stream have arrived before each read, never decreasing.
    init(_ stream: [UInt8], _ framing: ClassicFraming, arrivingUpTo ends: some Sequence<Int>) throws(Finding) {
        var conversation = framing.conversation()
        var position = 0
        for end in ends {
            while fault == nil, steps.last != .close {
                let shown = stream.span.bytes.extracting(position..<end)
                guard let consumed = try step(&conversation, shown, stream, position) else { break }
                position += consumed
            }
        }
        guard fault == nil else { return }
        left = stream.count - position
        isBetweenMessages = conversation.isBetweenMessages
    }

    /// - Returns: number of consumed bytes, or nil if there are no more steps.
    private mutating func step(
        _ conversation: inout any ClassicConversation, _ shown: RawSpan, _ stream: [UInt8], _ position: Int
    ) throws(Finding) -> Int? {
        let progress: ClassicProgress
        do throws(ClassicFault) {
            progress = try conversation.next(shown)
        } catch {
            fault = error
            return nil
        }
        try require((0...shown.byteCount).contains(progress.consumed), "More is consumed than was shown.")
        switch progress.step {
        case .needsMore:
            try require(progress.consumed == 0, "What needs more has consumed something.")
            return nil
        case .nothing: break
        case .content(let range):
            try require(
                !range.isEmpty && range.upperBound <= progress.consumed, "Content is not where it is said to be.")
            append(Array(stream[(position + range.lowerBound)..<(position + range.upperBound)]))
        case .decoded(let bytes): append(bytes)
        default: steps.append(progress.step)
        }
        return progress.consumed
    }

    private mutating func append(_ bytes: [UInt8]) {
        guard case .decoded(let before) = steps.last else { return steps.append(.decoded(bytes)) }
        steps[steps.count - 1] = .decoded(before + bytes)
    }
}
