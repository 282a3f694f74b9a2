internal import TransferModel

/// Reads what a server of the `jsonline` framing says to a client: its own sentences, and what other clients have sent, which
/// is skipped.
///
/// ```
///   head ──from the server: sentence(run)──► all of it ──► head
///   head ──from others: skipped(run)──► all of it ──► head
/// ```
package struct JSONLineAnswers: Sendable {
    package enum Answer: Equatable, Sendable {
        /// The bytes end before the next thing is complete; nothing was consumed.
        case needsMore
        /// Bytes that are skipped.
        case nothing
        /// The server says something of its own accord, which is why it has refused something.
        case sentence(String)
    }

    private enum State {
        case head(LineEndSearch)
        case sentence(Int)
        case skipped(ContentRun)
    }

    private var state = State.head(LineEndSearch())

    package init() {}

    /// Takes one step, by the rules of `ClassicConversation.next`.
    ///
    /// - Throws: `ClassicFault` for what is no such head.
    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: Answer, consumed: Int) {
        switch state {
        case .head(let search): try head(bytes, search)
        case .sentence(let size): sentence(bytes, size)
        case .skipped(let run): skipped(bytes, run)
        }
    }

    private mutating func head(
        _ bytes: RawSpan, _ search: LineEndSearch
    ) throws(ClassicFault) -> (answer: Answer, consumed: Int) {
        var search = search
        guard let end = try search.end(in: bytes) else {
            state = .head(search)
            return (.needsMore, 0)
        }
        let object = try ClassicObject(bytes.array(0..<end))
        let size = try object.size("size") ?? 0
        let isOwn = try object.text("sourceClient")?.hasSameBytes(as: JSONLineMessage.server) ?? false
        let isText = try object.text("type")?.hasSameBytes(as: "txt") ?? false
        state = Self.body(size, isSentence: isOwn && isText)
        return (.nothing, end + 2)
    }

    private static func body(_ size: UInt64, isSentence: Bool) -> State {
        guard size > 0 else { return .head(LineEndSearch()) }
        guard isSentence, size <= UInt64(ClassicLimits.sentence) else { return .skipped(ContentRun(size)) }
        return .sentence(Int(size))
    }

    private mutating func sentence(_ bytes: RawSpan, _ size: Int) -> (answer: Answer, consumed: Int) {
        guard bytes.byteCount >= size else { return (.needsMore, 0) }
        state = .head(LineEndSearch())
        return (.sentence(String(decoding: bytes.array(0..<size), as: UTF8.self)), size)
    }

    private mutating func skipped(_ bytes: RawSpan, _ run: ContentRun) -> (answer: Answer, consumed: Int) {
        var run = run
        let piece = run.take(of: bytes)
        guard !piece.isEmpty else { return (.needsMore, 0) }
        state = run.isOver ? .head(LineEndSearch()) : .skipped(run)
        return (.nothing, piece.count)
    }
}
