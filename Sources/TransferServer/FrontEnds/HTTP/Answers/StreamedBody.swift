import TransferHTTP
import TransferSystem

/// How a body is sent whose length is not known: in chunks, or, to a client of HTTP/1.0, until the connection ends.
struct StreamedBody {
    /// Nanoseconds of work without a word after which a blank line is sent, so that the client and proxies see that the work goes on.
    private static let silence: Int64 = 10_000_000_000

    private let isChunked: Bool
    private var lastWord = monotonicNanoseconds()

    init(for request: HTTPRequest) { isChunked = request.head.version != .http10 }

    /// Whether only the end of the connection marks the end of the body.
    var endsConnection: Bool { !isChunked }

    /// The head of an answer with this body.
    ///
    /// - Parameter isLast: whether the connection is closed after the answer.
    func head(_ fields: [(String, String)], isLast: Bool) -> [UInt8] {
        let chunked = isChunked ? [("Transfer-Encoding", "chunked")] : []
        return HTTPAnswers.head(200, fields + chunked, isLast: isLast)
    }

    /// Adds some bytes of the body.
    mutating func write(_ bytes: [UInt8], to outcome: inout HTTPOutcome) {
        lastWord = monotonicNanoseconds()
        guard isChunked, !bytes.isEmpty else { return outcome.append(bytes) }
        if let head = ChunkWriter.head(UInt64(bytes.count)) { outcome.append(head + bytes + ChunkWriter.end) }
    }

    /// To be called between two steps of work that have nothing to send. The body must allow blank lines, as lines of JSON do.
    mutating func keepAlive(_ outcome: inout HTTPOutcome) {
        if monotonicNanoseconds() - lastWord > Self.silence { write([UInt8(ascii: "\n")], to: &outcome) }
    }

    func end(_ outcome: inout HTTPOutcome) {
        if isChunked, let last = ChunkWriter.last() { outcome.append(last) }
    }
}
