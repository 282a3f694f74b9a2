internal import TransferModel

extension ClassicFraming {
    /// The framing for texts in buffers of 1,024 bytes. This program has no client for it, because users type these
    /// texts, and there are no answers.
    package static let text = ClassicFraming(
        "text", port: 1024, window: TextConversation.bufferSize, conversation: { TextConversation() }, client: nil)
}

/// The `text` framing: each message is a C string in a buffer of 1,024 bytes, all of which are sent; `exit` ends the
/// conversation. There are no faults and no answers.
///
/// A buffer without a NUL is a text of 1,024 bytes. An empty message is an empty text.
///
/// ```
///   buffer ──1,024 bytes: begin──► text(run) ──all of it: end──► rest(run) ──behind the NUL──► buffer
/// ```
package struct TextConversation: ClassicConversation {
    private enum State {
        case buffer
        case text(ContentRun)
        case rest(ContentRun)
    }

    /// The size of a message in bytes, from the source of the known programs.
    static let bufferSize = 1024

    private static let farewell = Array("exit".utf8)

    private var state = State.buffer
    private var number: UInt64 = 0

    package let hasDigests = false

    package var isBetweenMessages: Bool {
        if case .buffer = state { true } else { false }
    }

    package init() {}

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress {
        switch state {
        case .buffer: buffer(bytes)
        case .text(let run): text(bytes, run)
        case .rest(let run): rest(bytes, run)
        }
    }

    private mutating func buffer(_ bytes: RawSpan) -> ClassicProgress {
        guard bytes.byteCount >= Self.bufferSize else { return ClassicProgress(.needsMore) }
        let (length, isFarewell) = bytes.extracting(first: Self.bufferSize).withUnsafeBytes { buffer in
            let text = buffer.prefix { $0 != 0 }
            return (text.count, text.elementsEqual(Self.farewell))
        }
        guard !isFarewell else { return ClassicProgress(.close, consumed: Self.bufferSize) }
        state = .text(ContentRun(UInt64(length)))
        number += 1
        return ClassicProgress(.begin(ClassicUpload(number: number, kind: .text, size: UInt64(length))))
    }

    private mutating func text(_ bytes: RawSpan, _ run: ContentRun) -> ClassicProgress {
        var rest = run
        defer { state = run.isOver ? .rest(ContentRun(UInt64(Self.bufferSize) - run.size)) : .text(rest) }
        return rest.content(in: bytes)
    }

    private mutating func rest(_ bytes: RawSpan, _ run: ContentRun) -> ClassicProgress {
        var run = run
        defer { state = run.isOver ? .buffer : .rest(run) }
        return run.skip(in: bytes)
    }

    package func answer(to upload: ClassicUpload, _ result: ClassicResult) -> [UInt8] { [] }

    package func answer(to fault: ClassicFault) -> [UInt8] { [] }
}
