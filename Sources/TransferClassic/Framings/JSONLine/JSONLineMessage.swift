package import TransferModel

/// The heads of the `jsonline` framing as they are sent, each with its line end. A body of exactly the stated size
/// follows.
package enum JSONLineMessage: ClassicChat {
    package static let server = "transfer"

    package static func forwarded(_ kind: ContentKind, from source: String, size: UInt64) -> [UInt8] {
        line(["type": word(for: kind), "sourceClient": .string(source), "size": .string("\(size)")])
    }

    /// True for texts, locations and pictures that are neither empty nor too long.
    package static func carries(_ kind: ContentKind, size: UInt64) -> Bool {
        guard (1...ClassicLimits.handedOn).contains(size) else { return false }
        return switch kind {
        case .text, .picture, .location: true
        case .file, .audio: false
        }
    }

    /// The head of an upload that a client sends.
    ///
    /// - Parameters:
    ///   - sender: the name of the client.
    ///   - recipient: the name of the recipient; empty for the server.
    /// - Returns: nil for an empty body, which the framing does not allow.
    package static func upload(
        _ kind: ContentKind, from sender: String, to recipient: String, size: UInt64
    ) -> [UInt8]? {
        guard size > 0 else { return nil }
        return line([
            "type": word(for: kind), "CinentID": .string(sender), "targetID": .string(recipient),
            "size": .string("\(size)"),
        ])
    }

    /// The heartbeat that a client sends when it has connected and each second from then on. It has no body.
    package static func heartbeat(from sender: String) -> [UInt8] {
        line(["type": "heartA", "CinentID": .string(sender), "targetID": "", "size": "0"])
    }

    /// A sentence from the server, which clients receive as a text. The result is empty for an empty sentence, because
    /// a text without content would be a fault.
    static func sentence(_ text: String) -> [UInt8] {
        guard !text.isEmpty else { return [] }
        let text = text.clipped(to: ClassicLimits.sentence)
        return forwarded(.text, from: server, size: UInt64(text.utf8.count)) + Array(text.utf8)
    }

    private static func word(for kind: ContentKind) -> JSONValue { kind == .picture ? "img" : "txt" }

    /// JSON has no line ends in strings, and this JSON has none outside of strings.
    private static func line(_ object: JSONLine) -> [UInt8] { Array((object.text + "\r\n").utf8) }
}
