internal import TransferKeys
package import TransferModel

/// A client's message, in any framing.
package enum MessageRequest: Equatable, Sendable {
    case ping
    case goodbye
    /// A whole upload of the kind `text`.
    case text(id: UInt64, String)
    /// - Parameter id: 1 to 2^53.
    case begin(id: UInt64, name: String?, kind: ContentKind?, size: UInt64?)
    /// - Parameter content: at most `chunkSize` bytes.
    case chunk(id: UInt64, content: [UInt8])
    /// - Parameter sha256: SHA-256 of all content.
    case end(id: UInt64, size: UInt64, sha256: [UInt8]?)
    case abort(id: UInt64, reason: String?)

    /// The bytes of content that fit one chunk of either framing without compression: their 61,440 digits of Base64
    /// leave room for the other members, because a message has at most 65,535 bytes.
    package static let chunkSize = 45 << 10

    package var function: MessageFunction {
        switch self {
        case .ping: .ping
        case .goodbye: .goodbye
        case .text: .text
        case .begin: .begin
        case .chunk: .chunk
        case .end: .end
        case .abort: .abort
        }
    }

    package var object: JSONLine {
        switch self {
        case .ping, .goodbye: return [:]
        case .text(let id, let text): return ["id": .integer(id), "text": .string(text)]
        case .begin(let id, let name, let kind, let size):
            var object: JSONLine = ["id": .integer(id)]
            if let name { object.append("name", .string(name)) }
            if let kind { object.append("kind", .string(kind.name)) }
            if let size { object.append("size", .integer(size)) }
            return object
        case .chunk(let id, let content): return ["id": .integer(id), "data": .plain(Base64.encode(content))]
        case .end(let id, let size, let sha256):
            var object: JSONLine = ["id": .integer(id), "size": .integer(size)]
            if let sha256 { object.append("sha256", .string(String(hexadecimal: sha256))) }
            return object
        case .abort(let id, let reason):
            var object: JSONLine = ["id": .integer(id)]
            if let reason { object.append("reason", .string(reason)) }
            return object
        }
    }

    /// The encoded message; nil if it is too long for the framing.
    package func bytes<Framing: MessageFraming>(in framing: Framing.Type) -> [UInt8]? {
        Framing.encode(function, object)
    }
}
