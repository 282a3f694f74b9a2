package import TransferModel

/// The client's side of the `jsonline` framing: it sends a head before each content and a heartbeat each second. It
/// reads the server's own sentences, and skips what other clients have sent.
///
/// ```
///   head ──from the server: sentence(run)──► all of it ──► head
///   head ──from others: skipped(run)──► all of it ──► head
/// ```
package struct JSONLineClient: ClassicClient {
    private enum State {
        case head(LineEndSearch)
        case sentence(Int)
        case skipped(ContentRun)
    }

    private var state = State.head(LineEndSearch())

    private let party: ClassicParty

    package let isAnswered = false

    init(_ party: ClassicParty) {
        self.party = party
    }

    /// Every second, as the known programs do.
    package func heartbeatInterval(silence: Interval) -> Interval? { .seconds(1) }

    package func heartbeat(isInUpload: Bool) -> [UInt8] {
        isInUpload ? [] : JSONLineMessage.heartbeat(from: party.sender)
    }

    package func begin(_ upload: ClassicUpload) throws(Failure) -> [UInt8] {
        guard let kind = upload.kind, [.text, .location, .picture].contains(kind) else {
            throw Failure(
                .unsuitable,
                "jsonline carries only texts and pictures, and this file is recognised as neither; "
                    + "give its kind with --kind.")
        }
        let head = upload.size.flatMap {
            JSONLineMessage.upload(kind, from: party.sender, to: party.recipient, size: $0)
        }
        guard let head else { throw Failure(.unsuitable, "It is empty, and jsonline cannot carry empty files.") }
        return head
    }

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int) {
        switch state {
        case .head(let search): try head(bytes, search)
        case .sentence(let size): sentence(bytes, size)
        case .skipped(let run): skipped(bytes, run)
        }
    }

    private mutating func head(
        _ bytes: RawSpan, _ search: LineEndSearch
    ) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int) {
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

    private mutating func sentence(_ bytes: RawSpan, _ size: Int) -> (answer: ClassicAnswer, consumed: Int) {
        guard bytes.byteCount >= size else { return (.needsMore, 0) }
        state = .head(LineEndSearch())
        return (.remark(String(decoding: bytes.array(0..<size), as: UTF8.self)), size)
    }

    private mutating func skipped(_ bytes: RawSpan, _ run: ContentRun) -> (answer: ClassicAnswer, consumed: Int) {
        var run = run
        let piece = run.take(of: bytes)
        guard !piece.isEmpty else { return (.needsMore, 0) }
        state = run.isOver ? .head(LineEndSearch()) : .skipped(run)
        return (.nothing, piece.count)
    }
}
