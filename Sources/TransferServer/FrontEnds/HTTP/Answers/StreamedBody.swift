import TransferHTTP

/// How a body is sent whose length is not known: in chunks, or, to a client of HTTP/1.0, until the connection ends.
struct StreamedBody {
    private let isChunked: Bool

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
    func write(_ bytes: [UInt8], to outcome: inout HTTPOutcome) {
        guard isChunked, !bytes.isEmpty else { return outcome.append(bytes) }
        if let head = ChunkWriter.head(UInt64(bytes.count)) { outcome.append(head + bytes + ChunkWriter.end) }
    }

    func end(_ outcome: inout HTTPOutcome) {
        if isChunked, let last = ChunkWriter.last() { outcome.append(last) }
    }
}
