import TransferClassic
import TransferModel

/// The client's protocol state on one connection of a classic framing: what to send next, and what an answer means. It
/// does no I/O and reads no clock. One upload is under way at a time, and every answer is about that upload.
///
/// ```
///   idle ──begin──► content ──finish──► sent ──answer──► idle
///                   content ──answer──► refused ──abandon──► idle
///                   content ──abandon──► idle, if the framing can abort an upload
/// ```
///
/// With framings that have no answers, the state is idle again when everything is sent.
struct ClassicPush {
    /// The declaration of an upload.
    struct Declared {
        /// The file name, a single component of a path.
        var name: String
        /// The kind of content; nil if the client has not examined the content.
        var kind: ContentKind?
        /// The size in bytes; nil if it is known only at the end.
        var size: UInt64?
    }

    private struct Open: Equatable {
        let number: UInt64
        let kind: ContentKind?
        var sent: UInt64 = 0
    }

    private enum State: Equatable {
        case idle
        case content(Open)
        case refused(Open)
        case sent(Open)
    }

    private var client: any ClassicClient
    private var state = State.idle
    private var number: UInt64 = 0
    /// The number of the last aborted upload, or 0. Results for this and for earlier uploads are ignored, because they
    /// can arrive late.
    private var ignored: UInt64 = 0

    init(_ target: ClassicTarget) {
        client = target.client
    }

    /// Whether the server owes an answer to the upload.
    var awaitsAnswer: Bool { if case .sent = state { true } else { false } }
}

// MARK: Sending

extension ClassicPush {
    /// The first bytes on a connection; may be empty.
    var greeting: [UInt8] { heartbeat }

    /// The bytes of a heartbeat; empty if the framing has no heartbeat, or none that is possible in this state.
    var heartbeat: [UInt8] { client.heartbeat(isInUpload: state != .idle) }

    /// The last bytes on a connection; may be empty.
    var farewell: [UInt8] { client.farewell }

    /// Begins an upload.
    ///
    /// - Returns: the bytes to send.
    /// - Throws: `unsuitable` if the framing cannot carry the upload, which then has not begun.
    mutating func begin(_ declared: Declared) throws(Failure) -> [UInt8] {
        // Trap: the session begins an upload only after the last one has ended.
        precondition(state == .idle, "an upload begins inside another one")
        let bytes = try client.begin(
            ClassicUpload(
                number: number + 1, name: Array(declared.name.utf8), kind: declared.kind, size: declared.size))
        number += 1
        state = .content(Open(number: number, kind: declared.kind))
        return bytes
    }

    /// - Parameter piece: the next content, at most `ClassicClient.longestPiece` bytes.
    /// - Returns: the bytes to send.
    mutating func content(_ piece: [UInt8]) -> [UInt8] {
        guard case .content(var open) = state else { return [] }
        open.sent += UInt64(piece.count)
        state = .content(open)
        return client.content(piece, of: open.number)
    }

    /// Ends the upload after the last content.
    ///
    /// - Parameter sha256: the digest of the whole content.
    /// - Returns: the bytes to send; empty if the framing has no mark for the end.
    mutating func finish(sha256: [UInt8]?) -> [UInt8] {
        guard case .content(let open) = state else { return [] }
        state = client.isAnswered ? .sent(open) : .idle
        return client.end(open.number, size: open.sent, sha256: sha256)
    }

    /// Aborts the upload that is under way.
    ///
    /// - Returns: the bytes to send; nil if the framing cannot abort an upload, so that the connection must end.
    mutating func abandon(_ reason: String) -> [UInt8]? {
        switch state {
        case .idle, .sent: return []
        case .content(let open), .refused(let open):
            guard let bytes = client.abort(open.number, reason: reason) else { return nil }
            if state == .content(open) { ignored = open.number }
            state = .idle
            return bytes
        }
    }
}

// MARK: Receiving

extension ClassicPush {
    /// Takes one answer from received bytes, by the rules of `ClassicConversation.next`.
    ///
    /// - Throws: `ClassicFault` for bytes that are not an answer, and for an answer while no answer is due.
    mutating func take(_ bytes: RawSpan) throws(ClassicFault) -> (heard: ClassicHeard, consumed: Int) {
        let (answer, consumed) = try client.next(bytes)
        return (try hear(answer), consumed)
    }

    private mutating func hear(_ answer: ClassicAnswer) throws(ClassicFault) -> ClassicHeard {
        switch answer {
        case .needsMore: .needsMore
        case .nothing: .nothing
        case .reply(let bytes): .reply(bytes)
        case .remark(let text): .remark(text)
        case .close: .close
        case .stored(let kind): .verdict(try stored(kind))
        case .failed: .verdict(try failed())
        case .result(let id, _) where id != 0 && id <= ignored: .nothing
        case .result(let id, let result): .verdict(try verdict(id, result))
        }
    }

    private mutating func stored(_ kind: ContentKind?) throws(ClassicFault) -> ClassicVerdict {
        switch state {
        case .content:
            throw ClassicFault(.unexpectedFrame, "The server reported an upload as stored before all of it was sent.")
        case .sent(let open):
            guard kind == nil || kind == open.kind else {
                throw ClassicFault(.unexpectedFrame, "An answer is about another type than the upload's.")
            }
            state = .idle
            return .stored
        case .idle, .refused: throw Self.unasked
        }
    }

    private mutating func failed() throws(ClassicFault) -> ClassicVerdict {
        switch state {
        case .content(let open): state = .refused(open)
        case .sent: state = .idle
        case .idle, .refused: throw Self.unasked
        }
        return .failed
    }

    private mutating func verdict(_ id: UInt64, _ result: ClassicResult) throws(ClassicFault) -> ClassicVerdict {
        let (open, isSent): (Open, Bool)
        switch state {
        case .sent(let upload): (open, isSent) = (upload, true)
        case .content(let upload): (open, isSent) = (upload, false)
        case .idle, .refused: throw id == 0 ? Self.said(result) : Self.unasked
        }
        guard id != 0 else { throw Self.said(result) }
        guard id == open.number else { throw ClassicFault(.unexpectedFrame, "A result is about another upload.") }
        try Self.check(result, isSent: isSent)
        state = isSent ? .idle : .refused(open)
        return .result(result)
    }

    /// Checks that a success has one of the three codes with which an upload can succeed and comes after all content,
    /// and that the code is not one that only clients use.
    private static func check(_ result: ClassicResult, isSent: Bool) throws(ClassicFault) {
        let isLegal =
            switch result.code.class {
            case .success: isSent && [.committed, .alreadyStored, .skipped].contains(result.code)
            case .client: false
            case .protocol, .access, .request, .content, .server: true
            }
        guard isLegal else {
            throw ClassicFault(.unexpectedFrame, "The result \(result.code) is not possible here.")
        }
    }

    private static let unasked = ClassicFault(.unexpectedFrame, "The server sent an answer without a request.")

    /// The fault for a result about the whole connection.
    private static func said(_ result: ClassicResult) -> ClassicFault {
        ClassicFault(result.code, result.message ?? "The server ended the conversation: \(result.code).")
    }
}
