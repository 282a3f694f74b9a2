internal import TransferModel

/// One upload to a server of tus 1.0.0: what to ask next, and what an answer means. It does no I/O and reads no clock.
///
/// ```
///   fresh ──POST──► creating ──201──► ready ──PATCH──► sending ──204──► ready … over
///                      │ lost           ▲                │ lost, 409, 423, 5xx
///                      ▼                └───200── asking ◄┘
///                    fresh                          │ 404, 410: gone
///                                                   ▼ fresh, where the server cannot have had all of it
/// ```
/// What the server says it has is never behind what it said before, nor beyond what was sent; otherwise the upload fails.
package struct TusUpload: Sendable {
    /// What is to be done next.
    package enum Step: Equatable, Sendable {
        /// Make it: `create`.
        ///
        /// - takesContent: whether all of the content goes with it.
        case create(takesContent: Bool)
        /// Ask how far it is: `ask`.
        case ask
        /// Send content from there on: `send`.
        case send(from: UInt64)
        case nothing
    }

    /// Content that goes in one request.
    package struct Piece: Equatable, Sendable {
        package let count: UInt64
        /// Whether the content ends with it.
        package let isLast: Bool
        /// The value of `Upload-Checksum`.
        package let checksum: String?

        package init(count: UInt64, isLast: Bool, checksum: String?) {
            (self.count, self.isLast, self.checksum) = (count, isLast, checksum)
        }
    }

    private enum State: Equatable {
        case fresh
        case creating(Piece?)
        case unsure
        case asking
        case ready
        case sending(Piece)
        case over

        /// Whether content is under way; a last piece without a byte moves nothing.
        var isMoving: Bool { if case .sending(let piece) = self { piece.count > 0 } else { false } }
    }

    /// Bytes of content in one request: enough that round trips cost little, and little enough to hold it for another try.
    package static let pieceSize: UInt64 = 8 << 20

    /// How often an upload is begun from the front, the first time included: a server that always forgets is no use.
    package static let mostBeginnings = 3

    private let offer: TusOffer
    private let endpoint: String
    private var state = State.fresh
    private var beginnings = 0
    /// Path and query of the upload.
    package private(set) var location: String?
    /// Bytes that the server says it has.
    package private(set) var offset: UInt64 = 0
    /// Bytes that it can have, and that it could have before the latest request.
    private var sent: UInt64 = 0
    private var sentBefore: UInt64 = 0
    /// Bytes in all; nothing until that is known.
    private var length: UInt64?
    private var isLengthTold: Bool
    /// Whether all of the content has left at some time: the server may have it, whatever it says later.
    private var hasAllLeft = false
    /// Whether every piece had its digest with it.
    package private(set) var isCompared: Bool

    /// - Parameters:
    ///   - endpoint: path that makes uploads.
    ///   - length: bytes in all; nothing where only the end will tell, which the server has to offer.
    package init(_ offer: TusOffer, at endpoint: String, length: UInt64?) {
        (self.offer, self.endpoint, self.length) = (offer, endpoint, length)
        isLengthTold = length != nil
        isCompared = offer.checksum != nil
    }

    /// One that an earlier run has begun: how far it is, the server is asked first.
    ///
    /// - Parameters:
    ///   - location: path and query of the upload.
    ///   - length: bytes in all, as the server was told.
    ///   - isCompared: whether every piece so far had its digest with it.
    package init(_ offer: TusOffer, at endpoint: String, goingOnAt location: String, length: UInt64, isCompared: Bool) {
        self.init(offer, at: endpoint, length: length)
        (state, self.location, sent) = (.unsure, location, length)
        self.isCompared = self.isCompared && isCompared
    }

    private var isFromEarlierRun: Bool { beginnings == 0 }

    package var step: Step {
        switch state {
        case .fresh: .create(takesContent: takesContentAtOnce)
        case .unsure: .ask
        case .ready: .send(from: offset)
        case .creating, .asking, .sending, .over: .nothing
        }
    }

    private var takesContentAtOnce: Bool {
        guard offer.takesContentAtOnce, let length else { return false }
        return length > 0 && length <= Self.pieceSize
    }
}

// MARK: Requests

extension TusUpload {
    /// - Parameters:
    ///   - metadata: the value of `Upload-Metadata`.
    ///   - piece: all of the content, where the step says so.
    package mutating func create(metadata: String?, _ piece: Piece?) -> RequestHead {
        beginnings += 1
        (offset, sent, sentBefore, location) = (0, piece?.count ?? 0, 0, nil)
        state = .creating(piece)
        var fields = Self.fields
        if let length {
            fields.append("Upload-Length", "\(length)")
        } else {
            fields.append("Upload-Defer-Length", "1")
        }
        isLengthTold = length != nil
        if let metadata { fields.append("Upload-Metadata", metadata) }
        if let piece { append(piece, to: &fields) }
        return RequestHead(.post, endpoint, fields: fields)
    }

    package mutating func ask() -> RequestHead {
        state = .asking
        return RequestHead(.head, location ?? endpoint, fields: Self.fields)
    }

    /// - Parameter piece: behind what the server has.
    package mutating func send(_ piece: Piece) -> RequestHead {
        state = .sending(piece)
        let end = offset.addingClamped(piece.count)
        (sent, sentBefore) = (max(sent, end), sent)
        var fields = Self.fields
        fields.append("Upload-Offset", "\(offset)")
        if piece.isLast, !isLengthTold {
            length = end
            fields.append("Upload-Length", "\(end)")
        }
        append(piece, to: &fields)
        return RequestHead(.patch, location ?? endpoint, fields: fields)
    }

    private mutating func append(_ piece: Piece, to fields: inout HTTPFields) {
        fields.append("Content-Type", "application/offset+octet-stream")
        if let checksum = piece.checksum {
            fields.append("Upload-Checksum", checksum)
        } else if piece.count > 0 {
            isCompared = false
        }
    }

    private static var fields: HTTPFields {
        HTTPFields([HTTPField(name: "Tus-Resumable", value: Array(TusVersion.supported.utf8))])
    }
}

// MARK: Answers

extension TusUpload {
    /// What the answer to the latest request means.
    ///
    /// - Parameter resolve: finds where a `Location` leads.
    package mutating func take(
        _ head: ResponseHead, resolve: ([UInt8]) -> Result<String, UploadFault>
    ) -> UploadVerdict {
        switch state {
        case .creating(let piece): created(head, piece, resolve)
        case .sending(let piece): sent(head, piece)
        case .asking: told(head)
        case .fresh, .unsure, .ready, .over: Self.fault("An answer came that nothing had asked for.")
        }
    }

    /// The answer came before all of the latest piece had left; to be called before `take`. What the server cannot have got, it
    /// cannot have.
    ///
    /// - Parameter count: bytes of the piece that had.
    package mutating func cut(to count: UInt64) {
        let rest = Piece(count: count, isLast: false, checksum: nil)
        switch state {
        case .sending: state = .sending(rest)
        case .creating(_?): state = .creating(rest)
        case .fresh, .creating, .unsure, .asking, .ready, .over: return
        }
        sent = max(sentBefore, offset.addingClamped(count))
    }

    /// The connection broke before the answer came.
    ///
    /// - Parameter isAllSent: whether the connection had taken all of the request.
    /// - Returns: what to say where nobody can find out what became of it.
    package mutating func lost(isAllSent: Bool) -> UploadFault? {
        switch state {
        case .creating(let piece):
            state = .fresh
            guard piece != nil, isAllSent else { return nil }
            state = .over
            return UploadFault(.unacknowledged, "The connection was lost before the answer came.")
        case .sending(let piece):
            if isAllSent, piece.isLast { hasAllLeft = true }
            state = .unsure
        case .asking: state = .unsure
        case .fresh, .unsure, .ready, .over: break
        }
        return nil
    }

    private mutating func created(
        _ head: ResponseHead, _ piece: Piece?, _ resolve: ([UInt8]) -> Result<String, UploadFault>
    ) -> UploadVerdict {
        guard head.status == 201 else {
            state = .fresh
            if head.status == 404 || head.status == 410 {
                return .failed(UploadFault(.notFound, "The server makes no uploads at \(endpoint)."))
            }
            return .other(head, doing: "the creation of the upload")
        }
        guard let reference = head.fields.values("location").first else {
            return end(Self.fault("The server made an upload and did not say where it is."))
        }
        switch resolve(reference) {
        case .failure(let fault): return end(.failed(fault))
        case .success(let target): location = target
        }
        if let piece {
            if piece.isLast { hasAllLeft = true }
            guard head.fields.has("upload-offset") else {
                state = .unsure
                return .goOn
            }
        }
        return reached(head.fields.has("upload-offset") ? Self.offset(head) : .success(0))
    }

    private mutating func sent(_ head: ResponseHead, _ piece: Piece) -> UploadVerdict {
        switch head.status {
        case 200, 204:
            if piece.isLast { (hasAllLeft, isLengthTold) = (true, true) }
            return reached(Self.offset(head))
        case 404, 410: return gone(head)
        case 409:
            state = .unsure
            return .wait(UploadFault(.contentMismatch, "The server has another part of the upload than it said."), nil)
        case 460:
            state = .unsure
            return .wait(UploadFault(.digestMismatch, "What arrived at the server had another digest."), nil)
        default: return unanswered(head, "PATCH")
        }
    }

    private mutating func told(_ head: ResponseHead) -> UploadVerdict {
        switch head.status {
        case 200, 204:
            if let length, let told = try? UploadNumber.length(head.fields) {
                guard told == length else {
                    if isFromEarlierRun { return gone(head) }
                    return end(Self.fault("The server has another length of the upload than it was told."))
                }
                isLengthTold = true
            }
            return reached(Self.offset(head))
        case 404, 410: return gone(head)
        // Whoever asked before was somebody else, or what was there is something else by now.
        case 403 where isFromEarlierRun: return gone(head)
        default: return unanswered(head, "HEAD")
        }
    }

    /// It may go on later, from where the server says then.
    private mutating func unanswered(_ head: ResponseHead, _ what: String) -> UploadVerdict {
        let verdict = UploadVerdict.other(head, doing: what)
        if case .wait = verdict { state = .unsure } else { state = .over }
        return verdict
    }

    private mutating func reached(_ told: Result<UInt64, UploadFault>) -> UploadVerdict {
        let now: UInt64
        switch told {
        case .failure(let fault): return end(.failed(fault))
        case .success(let offset): now = offset
        }
        guard now >= offset else {
            return end(Self.fault("The server has \(now) bytes of the upload, and said before that it has \(offset)."))
        }
        guard now <= sent else {
            return end(Self.fault("The server says that it has \(now) bytes, and \(sent) were sent."))
        }
        let hasStood = now == offset && state.isMoving
        offset = now
        if now == length, isLengthTold { return end(.complete) }
        state = .ready
        guard !hasStood else { return .wait(UploadFault(.busy, "The server takes nothing more of the upload."), nil) }
        return .goOn
    }

    /// The server knows nothing of it any more.
    private mutating func gone(_ head: ResponseHead) -> UploadVerdict {
        guard !hasAllLeft else {
            return end(
                .failed(
                    UploadFault(
                        .unacknowledged,
                        "All of it was sent, and then the server answered \(head.statusText): it may have it, or not."))
            )
        }
        guard beginnings < Self.mostBeginnings else {
            return end(.failed(UploadFault(.incomplete, "The server has forgotten the upload \(beginnings) times.")))
        }
        state = .fresh
        return .anew(
            isFromEarlierRun
                ? "The server has forgotten what an earlier run had sent"
                : "The server has forgotten what it had of the upload, \(offset) bytes")
    }

    private mutating func end(_ verdict: UploadVerdict) -> UploadVerdict {
        state = .over
        return verdict
    }

    private static func offset(_ head: ResponseHead) -> Result<UInt64, UploadFault> {
        guard let offset = try? UploadNumber.offset(head.fields) else {
            return .failure(UploadFault(.malformedFrame, "The server did not say how far the upload is."))
        }
        return .success(offset)
    }

    private static func fault(_ message: String) -> UploadVerdict { .failed(UploadFault(.malformedFrame, message)) }
}
