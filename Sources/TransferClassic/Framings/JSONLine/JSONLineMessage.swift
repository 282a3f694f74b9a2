package import TransferModel

/// Heads of the `jsonline` framing as they are sent, each with its line end. The body follows, of exactly the size said.
package enum JSONLineMessage: ClassicChat {
    package static let server = "transfer"

    package static func forwarded(_ kind: ContentKind, from source: String, size: UInt64) -> [UInt8] {
        line(["type": word(for: kind), "sourceClient": .string(source), "size": .string("\(size)")])
    }

    /// Texts and pictures, neither empty nor too long. A place is a text as well.
    package static func carries(_ kind: ContentKind, size: UInt64) -> Bool {
        guard (1...ClassicLimits.handedOn).contains(size) else { return false }
        return switch kind {
        case .text, .picture, .location: true
        case .file, .audio: false
        }
    }

    /// What a client puts in front of a body.
    ///
    /// - Parameters:
    ///   - sender: what the client calls itself.
    ///   - recipient: whom it is for.
    /// - Returns: nothing for an empty body, which the framing doesn't have.
    package static func upload(
        _ kind: ContentKind, from sender: String, to recipient: String, size: UInt64
    ) -> [UInt8]? {
        guard size > 0 else { return nil }
        return line([
            "type": word(for: kind), "CinentID": .string(sender), "targetID": .string(recipient),
            "size": .string("\(size)"),
        ])
    }

    /// What a client sends when it has connected, and each second from then on; it has no body.
    package static func heartbeat(from sender: String) -> [UInt8] {
        line(["type": "heartA", "CinentID": .string(sender), "targetID": "", "size": "0"])
    }

    /// A sentence of the server's own: to its clients a text like any other. Nothing for an empty one, which would be a fault.
    static func sentence(_ text: String) -> [UInt8] {
        guard !text.isEmpty else { return [] }
        let text = text.clipped(to: ClassicLimits.sentence)
        return forwarded(.text, from: server, size: UInt64(text.utf8.count)) + Array(text.utf8)
    }

    private static func word(for kind: ContentKind) -> JSONValue { kind == .picture ? "img" : "txt" }

    /// JSON has no line ends in strings, and this one has none outside of them.
    private static func line(_ object: JSONLine) -> [UInt8] { Array((object.text + "\r\n").utf8) }
}
