import TransferHTTP
import TransferModel

/// What goes with a request.
enum HTTPBody {
    case none
    case bytes([UInt8])
    /// All of the content, read while it is sent; in chunks where its size is not known.
    case content(HTTPContent)

    /// Bytes, where they are known.
    var size: UInt64? {
        switch self {
        case .none: 0
        case .bytes(let bytes): UInt64(bytes.count)
        case .content(let content): content.size
        }
    }

    /// Bytes from which on the server is asked first: a round trip costs less than to send as much for nothing.
    private static let leastAsked: UInt64 = 1 << 20

    var isWorthAsking: Bool { size.map { $0 >= Self.leastAsked } ?? true }

    /// Whether it can be sent once more.
    var isRepeatable: Bool { if case .content(let content) = self { content.isRepeatable } else { true } }
}

/// An answer with as much of its content as is looked at.
struct HTTPAnswer {
    /// Bytes of content that are kept: results and reasons are some hundred.
    static let mostKept = 64 << 10

    /// Bytes of content that are read: an answer to an upload is not longer.
    static let mostRead = 1 << 20

    let head: ResponseHead
    let body: [UInt8]
    /// Path and query of the request that it answers.
    let target: String
    /// Bytes of content that had left when it was whole; nothing where that was all of the request.
    let cut: UInt64?

    /// The content, where it is an object of JSON that was kept whole.
    var json: JSONNode? {
        guard body.count < Self.mostKept, body.first == UInt8(ascii: "{") else { return nil }
        return try? JSONReader.read(body, mostValues: 256)
    }
}

/// What came of a request.
enum HTTPReply {
    case answer(HTTPAnswer)
    /// The connection is over.
    ///
    /// - isAllSent: whether it had taken all of the request.
    case lost(isAllSent: Bool)
    /// This side could not send it to its end, or must not.
    case failed(Failure)
}

/// A request that is under way.
struct HTTPExchange {
    let target: String
    var head: ResponseHead?
    var body: [UInt8] = []
    var bodySize = 0
    /// The server wants the content.
    var isContinued = false
    /// Answers so far that were not the last one.
    var interim = 0
    /// The answer is whole.
    var isOver = false

    /// - Parameter cut: bytes of content that have left; nothing where that is all of the request.
    func answer(cut: UInt64?) -> HTTPAnswer? {
        guard isOver, let head else { return nil }
        return HTTPAnswer(head: head, body: body, target: target, cut: cut)
    }
}
