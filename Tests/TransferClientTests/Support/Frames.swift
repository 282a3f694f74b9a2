import Testing
import TransferCodec
import TransferIO
import TransferModel
import TransferProtocol

@testable import TransferClient

/// Parses the frames of a producer, as a server would.
struct Frames {
    struct Upload {
        let begin: Begin
        var content: [UInt8] = []
        var end: End?
        var isAborted = false
    }

    private(set) var uploads: [Upload] = []
    private let inflater = Inflater()

    /// Adds frames, and checks that they are complete and in a legal order.
    mutating func add(_ chunk: OutgoingChunk) throws {
        var parser = FrameParser()
        var rest = chunk.filled
        while !rest.isEmpty {
            switch try parser.next(rest.bytes) {
            case .needsMore: throw ProtocolFault(.malformedFrame, "a frame is cut")
            case .message(let message, let consumed):
                try add(message)
                rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
            case .data(let piece, let consumed):
                let bytes = Array(rest[piece.range])
                uploads[uploads.count - 1].content += piece.encoding == .zlib ? try inflate(bytes) : bytes
                rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
            }
        }
    }

    private func inflate(_ bytes: [UInt8]) throws -> [UInt8] {
        var output = [UInt8](repeating: 0, count: Limits.dataBody + 1)
        var consumed = 0
        inflater.begin(limit: Limits.dataBody)
        let count = try bytes.withUnsafeBytes { input in
            try output.withUnsafeMutableBytes { try inflater.inflate(input, consumed: &consumed, into: $0) }
        }
        try inflater.finish()
        try #require(consumed == bytes.count)
        return Array(output[..<count])
    }

    private mutating func add(_ message: Message) throws {
        let isOpen = uploads.last.map { $0.end == nil && !$0.isAborted } ?? false
        switch message {
        case .begin(let begin):
            try #require(!isOpen)
            uploads.append(Upload(begin: begin))
        case .block: try #require(isOpen)
        case .end(let end):
            try #require(isOpen)
            uploads[uploads.count - 1].end = end
        case .abort:
            try #require(isOpen)
            uploads[uploads.count - 1].isAborted = true
        default: throw ProtocolFault(.unexpectedFrame, "\(message.function)")
        }
    }
}
