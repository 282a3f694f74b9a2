package import TransferModel

/// The encoding of messages, in which `header7` and `tagged37` differ.
package protocol MessageFraming: Sendable {
    init()

    /// Parses the message at the front of the bytes, by the rules of `ClassicConversation.next`.
    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (found: FoundMessage, consumed: Int)

    /// Whether the stream may end here without cutting a message, if no bytes are left over.
    var isBetweenMessages: Bool { get }

    /// Encodes a message of this framing.
    ///
    /// - Returns: nil if it is too long for the framing.
    static func encode(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]?

    /// Encodes a message with a compressed body; nil also if the framing has no compression.
    static func encodeCompressed(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]?
}

extension MessageFraming {
    package static func encodeCompressed(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]? { nil }
}

extension ClassicFraming {
    /// Makes a framing that carries messages.
    init<Framing: MessageFraming>(
        _ name: String, window: Int, isCompressible: Bool = false, messagesIn framing: Framing.Type
    ) {
        self.init(
            name, window: window, isCompressible: isCompressible, conversation: { MessageConversation<Framing>() },
            client: { MessageClient<Framing>(name, isCompressed: $0.isCompressed) })
    }
}

/// The item that a framing found at the front of the bytes.
package enum FoundMessage: Equatable, Sendable {
    case needsMore
    /// Bytes that are not a message, or only its beginning.
    case nothing
    /// A whole message with its uncompressed JSON.
    case message(MessageFunction, [UInt8])
}

extension JSONLine {
    /// The members of a `pong`: the ID of the ping, if it has one.
    static func pong(_ id: UInt64?) -> JSONLine {
        guard let id else { return [:] }
        return ["id": .integer(id)]
    }
}
