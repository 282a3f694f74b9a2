package import TransferModel

/// What a client says and hears on one connection of a classic framing, one upload after the other. It does no I/O and reads
/// no clock, as `ClassicConversation`, which is the other side of it.
///
/// The order of calls: `begin`, `content` for each piece, then `end`, or `abort` instead; then the next upload. `heartbeat` and
/// `next` may come between any two of them, `farewell` comes last.
package protocol ClassicClient: Sendable {
    /// Whether the size of an upload has to be known when it begins.
    var wantsSize: Bool { get }

    /// Whether the other side says what became of an upload.
    var isAnswered: Bool { get }

    /// Whether `end` wants the SHA-256 of the content.
    var hasDigests: Bool { get }

    /// Bytes of content in one piece; nil for any number.
    var longestPiece: Int? { get }

    /// How long to wait between two signs of life; nil where the framing has none.
    ///
    /// - Parameter silence: how long a server may be silent.
    func heartbeatInterval(silence: Interval) -> Interval?

    /// A sign of life, which also comes first on a connection; empty where the framing has none at this place.
    func heartbeat(isInUpload: Bool) -> [UInt8]

    /// What stands in front of the content.
    ///
    /// - Parameter upload: without sender and recipient.
    /// - Throws: `unsuitable` for what the framing cannot carry.
    func begin(_ upload: ClassicUpload) throws(Failure) -> [UInt8]

    /// Content as it travels.
    func content(_ piece: [UInt8], of number: UInt64) -> [UInt8]

    /// What stands behind the content; may be empty.
    func end(_ number: UInt64, size: UInt64, sha256: [UInt8]?) -> [UInt8]

    /// Takes an upload back that has not ended; nil where the framing has no words for it.
    func abort(_ number: UInt64, reason: String) -> [UInt8]?

    /// What comes last on a connection; may be empty.
    var farewell: [UInt8] { get }

    /// Takes one step of what the server says, by the rules of `ClassicConversation.next`.
    ///
    /// - Throws: `ClassicFault` for what no server says.
    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int)
}

/// A framing whose uploads are a head with the size, and the content as it is.
extension ClassicClient {
    package var wantsSize: Bool { true }
    package var hasDigests: Bool { false }
    package var longestPiece: Int? { nil }
    package var farewell: [UInt8] { [] }

    package func heartbeatInterval(silence: Interval) -> Interval? { nil }
    package func heartbeat(isInUpload: Bool) -> [UInt8] { [] }
    package func content(_ piece: [UInt8], of number: UInt64) -> [UInt8] { piece }
    package func end(_ number: UInt64, size: UInt64, sha256: [UInt8]?) -> [UInt8] { [] }
    package func abort(_ number: UInt64, reason: String) -> [UInt8]? { nil }
}

/// What a server says to a client.
package enum ClassicAnswer: Equatable, Sendable {
    /// The bytes end before the next thing is complete; nothing was consumed.
    case needsMore
    /// A sign of life, or bytes that are skipped.
    case nothing
    /// Something to send: the answer to a ping.
    case reply([UInt8])
    /// A sentence of the server's own, which is why it has refused something.
    case remark(String)
    /// It has the upload, and says nothing else about it than what it is; nil where it doesn't say that either.
    case stored(ContentKind?)
    /// It doesn't have the upload, and doesn't say why.
    case failed
    /// What became of an upload: its number, or 0 when it is about the whole conversation, which then ends.
    case result(id: UInt64, ClassicResult)
    /// The server is done.
    case close
}

/// What a server says to clients that have names and send to one another.
package protocol ClassicChat: Sendable {
    /// The name of the server in messages that answer no upload.
    static var server: String { get }

    /// Whether a body can be handed on.
    static func carries(_ kind: ContentKind, size: UInt64) -> Bool

    /// What the server puts in front of a body that it hands on.
    ///
    /// - Parameters:
    ///   - kind: of the body, one that it carries.
    ///   - source: the client that it comes from.
    ///   - size: bytes of the body.
    static func forwarded(_ kind: ContentKind, from source: String, size: UInt64) -> [UInt8]
}
