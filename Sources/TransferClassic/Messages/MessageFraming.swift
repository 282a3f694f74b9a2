package import TransferModel

/// How messages travel: what differs between `header7` and `tagged37`.
package protocol MessageFraming: Sendable {
    init()

    /// Looks for the message at the front of the bytes; the rules are those of `ClassicConversation.next`.
    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (found: FoundMessage, consumed: Int)

    /// Whether the stream may end here without cutting a message, given that no bytes are left over.
    var isBetweenMessages: Bool { get }

    /// The bytes of a message.
    ///
    /// - Returns: nothing for one that is too long for the framing.
    static func encode(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]?

    /// The same with the body compressed; nil also where the framing has no compression.
    static func encodeCompressed(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]?
}

extension MessageFraming {
    package static func encodeCompressed(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]? { nil }
}

extension ClassicFraming {
    /// A framing that carries messages.
    init<Framing: MessageFraming>(
        _ name: String, window: Int, isCompressible: Bool = false, messagesIn framing: Framing.Type
    ) {
        self.init(
            name, window: window, isCompressible: isCompressible, conversation: { MessageConversation<Framing>() },
            client: { MessageClient<Framing>(name, isCompressed: $0.isCompressed) })
    }
}

/// What a framing found at the front of the bytes.
package enum FoundMessage: Equatable, Sendable {
    case needsMore
    /// Bytes that are no message, or only the beginning of one.
    case nothing
    /// A whole message, with its JSON as it is when it is not compressed.
    case message(MessageFunction, [UInt8])
}

extension JSONLine {
    /// The members of a `pong`: the id of the ping, where it has one.
    static func pong(_ id: UInt64?) -> JSONLine {
        guard let id else { return [:] }
        return ["id": .integer(id)]
    }
}
