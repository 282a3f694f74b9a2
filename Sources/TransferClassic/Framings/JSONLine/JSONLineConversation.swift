internal import TransferModel

extension ClassicFraming {
    /// The framing with a head in JSON, a line end and a body.
    package static let jsonline = ClassicFraming(
        "jsonline", port: 8088, window: ClassicLimits.head + 2, chat: JSONLineMessage.self,
        conversation: { JSONLineConversation() }, client: { JSONLineClient($0) })
}

/// The `jsonline` framing: a head in JSON, a line end (CR LF), a body of as many bytes as the head says.
///
/// The framing has no answers. A refusal is sent as a text from the server, which its programs show to users.
///
/// ```
///   head ──upload: begin──► body(run) ──all of it: end──► head
///   head ──heartbeat: present──► skipped(run) ──all of it──► head
/// ```
package struct JSONLineConversation: ClassicConversation {
    private enum State {
        case head(LineEndSearch)
        case body(ContentRun)
        case skipped(ContentRun)
    }

    private var state = State.head(LineEndSearch())
    private var number: UInt64 = 0
    private var known = KnownHeads()

    package let hasDigests = false

    package var isBetweenMessages: Bool {
        if case .head = state { true } else { false }
    }

    package init() {}

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress {
        switch state {
        case .head(let search): try head(bytes, search)
        case .body(let run): body(bytes, run)
        case .skipped(let run): skipped(bytes, run)
        }
    }

    private mutating func head(_ bytes: RawSpan, _ search: LineEndSearch) throws(ClassicFault) -> ClassicProgress {
        var search = search
        guard let end = try search.end(in: bytes) else {
            state = .head(search)
            return ClassicProgress(.needsMore)
        }
        let shown = bytes.extracting(0..<end)
        if let step = known.step(of: shown) {
            state = .head(LineEndSearch())
            return ClassicProgress(step, consumed: end + 2)
        }
        let head = try JSONLineHead(shown.array(0..<end))
        let step = begin(head)
        if case .heartbeat = head.content, head.size == 0 { known.add(shown, step) }
        return ClassicProgress(step, consumed: end + 2)
    }

    private mutating func begin(_ head: JSONLineHead) -> ClassicStep {
        switch head.content {
        case .heartbeat:
            state = head.size > 0 ? .skipped(ContentRun(head.size)) : .head(LineEndSearch())
            return head.sender.map { ClassicStep.present(name: $0) } ?? .nothing
        case .upload(let kind):
            state = .body(ContentRun(head.size))
            number += 1
            return .begin(
                ClassicUpload(
                    number: number, kind: kind, size: head.size, recipient: head.recipient, sender: head.sender))
        }
    }

    private mutating func body(_ bytes: RawSpan, _ run: ContentRun) -> ClassicProgress {
        var rest = run
        defer { state = run.isOver ? .head(LineEndSearch()) : .body(rest) }
        return rest.content(in: bytes)
    }

    private mutating func skipped(_ bytes: RawSpan, _ run: ContentRun) -> ClassicProgress {
        var run = run
        defer { state = run.isOver ? .head(LineEndSearch()) : .skipped(run) }
        return run.skip(in: bytes)
    }

    package func answer(to upload: ClassicUpload, _ result: ClassicResult) -> [UInt8] {
        guard !result.isStored else { return [] }
        return JSONLineMessage.sentence(result.message ?? "Nothing was stored: \(result.code.name).")
    }

    package func answer(to fault: ClassicFault) -> [UInt8] { JSONLineMessage.sentence(fault.message) }
}
