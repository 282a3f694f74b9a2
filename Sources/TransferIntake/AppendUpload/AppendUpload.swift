import TransferCodec
import TransferModel
import TransferStore

/// How far an upload is that grows at its end: what is written and digested, and what of that is durable.
///
/// `@unchecked Sendable`: touched by whoever has the claim on the upload, while it writes for it, and by nobody else.
final class AppendUpload: @unchecked Sendable {
    let content: any AppendableContent

    /// Whether what is behind the durable part must not count before its request is over.
    var isUnproven = false

    /// When it was last kept, in nanoseconds of the monotonic clock.
    private(set) var lastKept: Int64

    /// What is written.
    private(set) var mark: AppendMark

    /// Whether nobody can say what is durable any more.
    private(set) var isLost = false

    /// What another function than the server's own made of all there was, for whoever asks again.
    var digested: (function: DigestFunction, offset: UInt64, digest: [UInt8])?

    private let digester = ContentDigester(AppendMark.function)

    /// - Throws: when what is durable cannot be read.
    init(_ content: any AppendableContent, now: Int64) throws(Failure) {
        self.content = content
        mark = content.kept
        lastKept = now
        do throws(Failure) {
            try rollBack()
        } catch {
            if isLost { content.discard() }
            throw error
        }
    }

    /// Bytes that are written and not durable.
    var unkept: UInt64 { mark.offset - min(content.kept.offset, mark.offset) }

    /// - Throws: when it is declared otherwise than before, or is longer already.
    func declare(total: UInt64) throws(Failure) {
        guard mark.total ?? total == total, mark.offset <= total else { throw .declaredOtherwise }
        mark.total = total
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        digested = nil
        try content.content.write(bytes, at: mark.offset)
        digester.update(bytes) { _, digest in mark.blocks += digest }
        mark.offset = digester.size
    }

    /// Makes what is written durable. What cannot be, because there is no room to say that it is, is to be forgotten.
    func keep(now: Int64) throws(Failure) {
        mark.tail = digester.tail
        do throws(Failure) {
            try content.keep(mark)
        } catch {
            (isLost, isUnproven) = (content.isLost, true)
            throw error
        }
        lastKept = now
    }

    /// As above, where it is nobody's request that fails: unless all is lost, `rollBack` has to follow.
    func keepOrForget(now: Int64) throws(Failure) {
        do throws(Failure) {
            try keep(now: now)
        } catch {
            guard !isLost else { throw error }
        }
    }

    /// Writes down what there is, for the server that comes when this one dies before the upload is ended.
    func note() {
        mark.tail = digester.tail
        content.note(mark)
    }

    /// Forgets what is not durable. The block that this ends in is digested again from what is there.
    func rollBack() throws(Failure) {
        let kept = content.kept
        if kept.offset != mark.offset { digested = nil }
        mark = kept
        digester.reset(after: kept.blocks)
        guard digester.size < kept.offset else { return }
        try content.read(digester.size..<kept.offset) { (bytes) in digester.update(bytes) { _, _ in } }
        guard digester.tail == kept.tail else {
            isLost = true
            throw .appendLost
        }
    }

    /// - Returns: of all of it; nothing may be appended any more.
    func finish() -> Digest { digester.finish().digest }
}
