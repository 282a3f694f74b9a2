import TransferModel
import TransferTestSupport

@testable import TransferProtocol

/// A byte stream and the frames in it.
struct Conversation: Sendable {
    /// A frame, however many pieces its body had.
    enum Frame: Equatable, Sendable {
        case message(Message)
        /// The range of the body in the stream, so that comparing frames compares bytes without copying any.
        case data(BodyEncoding, Range<Int>)
    }

    private(set) var bytes: [UInt8] = []
    private(set) var frames: [Frame] = []

    mutating func append(_ message: Message) {
        message.encode(into: &bytes)
        frames.append(.message(message))
    }

    mutating func append(data payload: [UInt8], _ encoding: BodyEncoding = .stored) {
        bytes += FrameHeader.data(payload, encoding)
        frames.append(.data(encoding, bytes.count - payload.count..<bytes.count))
    }

    /// Appends the header of a stored data frame without its body.
    mutating func append(headerOf bodyLength: Int) {
        FrameHeader(.data, bodyLength: bodyLength).encode(into: &bytes)
        frames.append(.data(.stored, bytes.count..<bytes.count))
    }

    init(_ build: (inout Conversation) -> Void = { _ in }) {
        build(&self)
    }

    /// A conversation with every kind of frame and of body in a realistic order.
    static let recorded: Conversation = {
        var generator = SplitMix64(seed: 8)
        var conversation = Conversation()
        conversation.append(.hello(Hello(agent: "transfer/1.0")))
        conversation.append(.welcome(Welcome(agent: "transfer/1.0", serverName: "attic")))
        conversation.append(.begin(Sample.begin))
        conversation.append(data: generator.bytes(300))
        conversation.append(data: [])
        conversation.append(data: generator.bytes(1), .zlib)
        conversation.append(data: generator.bytes(70_000))
        conversation.append(.received(Received(id: Sample.id, bytes: 70_301)))
        conversation.append(.block(BlockDigest(index: 0, digest: Sample.xxh128)))
        conversation.append(data: generator.bytes(2), .zlib)
        conversation.append(.ping(7))
        conversation.append(.end(End(size: 4096, digest: Sample.xxh128)))
        conversation.append(.pong(7))
        conversation.append(.result(UploadResult(id: Sample.id, code: .committed, digest: Sample.xxh128)))
        conversation.append(.begin(Begin(id: Sample.otherID, path: "写真", size: nil, expectsAccept: true)))
        conversation.append(.accept(Sample.otherID))
        conversation.append(data: [], .zlib)
        conversation.append(.abort)
        conversation.append(.goodbye(Goodbye(.committed)))
        return conversation
    }()

    /// Parses `bytes` like a receiver that has received them up to each of `ends` in turn.
    ///
    /// - Returns: the frames, with the pieces of each body joined, and the number of consumed bytes.
    static func parse(
        _ bytes: [UInt8], shownUpTo ends: some Sequence<Int>
    ) throws(ProtocolFault) -> (frames: [Frame], consumed: Int) {
        var parser = FrameParser()
        var frames: [Frame] = []
        var consumed = 0
        for end in ends {
            while true {
                let step = try parser.next(bytes[consumed..<end].span.bytes)
                let count = step.consumed
                precondition(count <= end - consumed, "more was consumed than was shown")
                if case .needsMore = step { break }
                precondition(count > 0, "a step that consumes nothing never ends")
                join(step, at: consumed, to: &frames)
                consumed += count
            }
        }
        return (frames, consumed)
    }

    private static func join(_ step: FrameParser.Step, at offset: Int, to frames: inout [Frame]) {
        switch step {
        case .needsMore: break
        case .message(let message, _): frames.append(.message(message))
        case .data(let piece, _):
            let range = piece.range.lowerBound + offset..<piece.range.upperBound + offset
            guard !piece.isFirst else { return frames.append(.data(piece.encoding, range)) }
            guard case .data(piece.encoding, let before) = frames.last, before.upperBound == range.lowerBound else {
                preconditionFailure("a piece that doesn't continue the one before")
            }
            frames[frames.count - 1] = .data(piece.encoding, before.lowerBound..<range.upperBound)
        }
    }
}

extension FrameParser.Step {
    var consumed: Int {
        switch self {
        case .needsMore: 0
        case .message(_, let consumed), .data(_, let consumed): consumed
        }
    }
}

extension FrameParser {
    mutating func next(_ bytes: some Collection<UInt8>) throws(ProtocolFault) -> Step {
        let bytes = Array(bytes)
        return try next(bytes.span.bytes)
    }
}
