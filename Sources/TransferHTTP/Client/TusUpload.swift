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

    enum State: Equatable {
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
    let endpoint: String
    var state = State.fresh
    var beginnings = 0
    /// Path and query of the upload.
    package internal(set) var location: String?
    /// Bytes that the server says it has.
    package internal(set) var offset: UInt64 = 0
    /// Bytes that it can have, and that it could have before the latest request.
    var sent: UInt64 = 0
    var sentBefore: UInt64 = 0
    /// Bytes in all; nothing until that is known.
    var length: UInt64?
    var isLengthTold: Bool
    /// Whether all of the content has left at some time: the server may have it, whatever it says later.
    var hasAllLeft = false
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

    var isFromEarlierRun: Bool { beginnings == 0 }

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
