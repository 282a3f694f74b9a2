internal import TransferModel

/// One upload to a tus 1.0.0 server: the next request, and the meaning of answers. No I/O and no clock.
///
/// ```
///   fresh ──POST──► creating ──201──► ready ──PATCH──► sending ──204──► ready … over
///                      │ lost           ▲                │ lost, 409, 423, 5xx
///                      ▼                └───200── asking ◄┘
///                    fresh                          │ 404, 410: gone
///                                                   ▼ fresh, where the server cannot have had all of it
/// ```
/// The server's offset must never go back or exceed what was sent; otherwise the upload fails.
package struct TusUpload: Sendable {
    /// The next request to make.
    package enum Step: Equatable, Sendable {
        /// Create the upload with the request from `create`.
        ///
        /// - takesContent: whether the request carries all content.
        case create(takesContent: Bool)
        /// Ask for the server's offset, with the request from `ask`.
        case ask
        /// Send content from the offset on, with the request from `send`.
        case send(from: UInt64)
        case nothing
    }

    /// The content that one request carries.
    package struct Piece: Equatable, Sendable {
        package let count: UInt64
        /// Whether this is the last piece.
        package let isLast: Bool
        /// The value of `Upload-Checksum`; nil without a digest.
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

        /// Whether content is being sent; an empty last piece does not count.
        var isMoving: Bool { if case .sending(let piece) = self { piece.count > 0 } else { false } }
    }

    /// Bytes of content in one request: so many that round trips cost little, and so few that the bytes can be held for
    /// a retry.
    package static let pieceSize: UInt64 = 8 << 20

    /// Most times that an upload begins, including the first time. A server that forgets uploads again and again is
    /// useless.
    package static let mostBeginnings = 3

    private let offer: TusOffer
    let endpoint: String
    var state = State.fresh
    var beginnings = 0
    /// Path and query of the upload.
    package internal(set) var location: String?
    /// The server's offset in bytes.
    package internal(set) var offset: UInt64 = 0
    /// Bytes that the server can have now, and below them the bytes that it could have before the latest request.
    var sent: UInt64 = 0
    var sentBefore: UInt64 = 0
    /// Size of the content in bytes; nil until it is known.
    var length: UInt64?
    var isLengthTold: Bool
    /// Whether all content was sent at some time: the server may have it, whatever it answers later.
    var hasAllLeft = false
    /// Whether every piece was sent with its digest.
    package private(set) var isCompared: Bool

    /// - Parameters:
    ///   - endpoint: path at which uploads are created.
    ///   - length: size of the content in bytes; nil if it is known only at the end, which the server must support.
    package init(_ offer: TusOffer, at endpoint: String, length: UInt64?) {
        (self.offer, self.endpoint, self.length) = (offer, endpoint, length)
        isLengthTold = length != nil
        isCompared = offer.checksum != nil
    }

    /// Continues an upload of an earlier run. The first request asks for the server's offset.
    ///
    /// - Parameters:
    ///   - location: path and query of the upload.
    ///   - length: size of the content that the server knows, in bytes.
    ///   - isCompared: whether every piece so far was sent with its digest.
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
    ///   - piece: all content, if the step demands it; nil otherwise.
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

    /// - Parameter piece: content from the server's offset on.
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
