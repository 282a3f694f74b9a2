package import TransferModel

/// The client's side of one connection of a classic framing, which sends one upload after the other. It does no I/O and
/// reads no clock; `ClassicConversation` is the server's side.
///
/// The order of calls: `begin`, `content` for each piece, then `end`, or `abort` instead; then the next upload. `heartbeat` and
/// `next` may come between any two of them, `farewell` comes last.
package protocol ClassicClient: Sendable {
    /// Whether the size of an upload must be known when it begins.
    var wantsSize: Bool { get }

    /// Whether the server answers an upload.
    var isAnswered: Bool { get }

    /// Whether `end` needs the SHA-256 of the content.
    var hasDigests: Bool { get }

    /// The most bytes of content in one piece; nil for any number.
    var longestPiece: Int? { get }

    /// The time between two signs of life; nil if the framing has none.
    ///
    /// - Parameter silence: the longest time that a server may be silent.
    func heartbeatInterval(silence: Interval) -> Interval?

    /// A sign of life, which is also sent as the first bytes on a connection; empty if the framing has no sign of life at this point.
    func heartbeat(isInUpload: Bool) -> [UInt8]

    /// The bytes before the content.
    ///
    /// - Parameter upload: without sender and recipient.
    /// - Throws: `unsuitable` if the framing cannot carry the upload.
    func begin(_ upload: ClassicUpload) throws(Failure) -> [UInt8]

    /// The bytes that carry a piece of content.
    func content(_ piece: [UInt8], of number: UInt64) -> [UInt8]

    /// The bytes after the content; may be empty.
    func end(_ number: UInt64, size: UInt64, sha256: [UInt8]?) -> [UInt8]

    /// Cancels an upload that has not ended; nil if the framing has no message for it.
    func abort(_ number: UInt64, reason: String) -> [UInt8]?

    /// The last bytes on a connection; may be empty.
    var farewell: [UInt8] { get }

    /// Parses one step of the server's bytes, by the rules of `ClassicConversation.next`.
    ///
    /// - Throws: `ClassicFault` for bytes that no server may send.
    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int)
}

/// Defaults for a framing whose uploads are a head with the size, followed by the plain content.
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

/// A step of the server's bytes.
package enum ClassicAnswer: Equatable, Sendable {
    /// The next item is not complete; no bytes were consumed.
    case needsMore
    /// A sign of life, or bytes that are skipped.
    case nothing
    /// Bytes to send: the answer to a ping.
    case reply([UInt8])
    /// A sentence of the server with the reason why it has refused an upload.
    case remark(String)
    /// The server has the upload. The kind is the one that the server states; nil if it states none.
    case stored(ContentKind?)
    /// The server does not have the upload, and gives no reason.
    case failed
    /// The result of an upload with its number; 0 stands for the whole conversation, which then ends.
    case result(id: UInt64, ClassicResult)
    /// The server ends the conversation.
    case close
}

/// The messages of a server to clients that have names and send to one another.
package protocol ClassicChat: Sendable {
    /// The server's name in its own messages.
    static var server: String { get }

    /// Whether a body can be forwarded to a client.
    static func carries(_ kind: ContentKind, size: UInt64) -> Bool

    /// The head of a body that the server forwards.
    ///
    /// - Parameters:
    ///   - kind: the kind of the body, which the framing carries.
    ///   - source: the name of the sending client.
    ///   - size: the size of the body in bytes.
    static func forwarded(_ kind: ContentKind, from source: String, size: UInt64) -> [UInt8]
}
