import TransferHTTP
import TransferModel

/// The content of a request.
enum HTTPBody {
    case none
    case bytes([UInt8])
    /// All content of an upload, read while it is sent; in chunks if its size is unknown.
    case content(HTTPContent)

    /// The size in bytes; nil if unknown.
    var size: UInt64? {
        switch self {
        case .none: 0
        case .bytes(let bytes): UInt64(bytes.count)
        case .content(let content): content.size
        }
    }

    /// The size from which on the client first asks whether the server wants the content. To send less in vain costs
    /// less than a round trip.
    private static let leastAsked: UInt64 = 1 << 20

    var isWorthAsking: Bool { size.map { $0 >= Self.leastAsked } ?? true }

    /// Whether the content can be sent again.
    var isRepeatable: Bool { if case .content(let content) = self { content.isRepeatable } else { true } }
}

/// An answer with the beginning of the content.
struct HTTPAnswer {
    /// The most bytes of content to keep; results and error messages have a few hundred.
    static let mostKept = 64 << 10

    /// The most bytes of content to read, more than any answer to an upload has.
    static let mostRead = 1 << 20

    let head: ResponseHead
    let body: [UInt8]
    /// The path and query of the request.
    let target: String
    /// The bytes of content that were sent before the answer was complete; nil if all were.
    let cut: UInt64?

    /// The content, if it is a JSON object that was kept completely.
    var json: JSONNode? {
        guard body.count < Self.mostKept, body.first == UInt8(ascii: "{") else { return nil }
        return try? JSONReader.read(body, mostValues: 256)
    }
}

/// The outcome of a request.
enum HTTPReply {
    case answer(HTTPAnswer)
    /// The connection has ended.
    ///
    /// - isAllSent: whether the connection had taken the whole request.
    case lost(isAllSent: Bool)
    /// The client could not, or must not, send the whole request.
    case failed(Failure)
}

/// A request that has no complete answer yet.
struct HTTPExchange {
    let target: String
    var head: ResponseHead?
    var body: [UInt8] = []
    var bodySize = 0
    /// Whether the server has asked for the content.
    var isContinued = false
    /// The number of interim answers so far.
    var interim = 0
    /// Whether the answer is complete.
    var isOver = false

    /// - Parameter cut: the bytes of content that were sent; nil if all were.
    func answer(cut: UInt64?) -> HTTPAnswer? {
        guard isOver, let head else { return nil }
        return HTTPAnswer(head: head, body: body, target: target, cut: cut)
    }
}
