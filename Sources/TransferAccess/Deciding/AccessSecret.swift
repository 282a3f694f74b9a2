import Glibc

/// A secret by which a client without a key is let in or has its key enrolled, `transfer_ID_SECRET` or
/// `pair_ID_SECRET`, or by which a browser is let in, `web_ID_SECRET` in a link and `session_ID_SECRET` in a cookie.
///
/// Its owner sees it once. It is never logged: its description omits the secret.
package struct AccessSecret: Equatable, Sendable {
    /// The purpose of the secret.
    package enum Kind: String, CaseIterable, Sendable {
        /// Gives a client access until the token expires or is revoked.
        case token = "transfer"
        /// Enrols the key of one client.
        case pairing = "pair"
        /// Begins the session of one browser, as part of a link.
        case web = "web"
        /// Identifies a browser's session while it lasts.
        case session = "session"
    }

    package let kind: Kind

    /// ID in the list, which is not secret. It has eight digits, 40 bits: enough that no two IDs in a list are equal.
    package let id: String

    /// The secret part: 32 digits, 160 bits.
    let secret: String

    /// Seconds for which a pairing code or a link is valid: ten minutes, enough to walk to the other machine.
    package static let pairingSeconds: Int64 = 600

    /// Default seconds of a session: 30 days.
    package static let sessionSeconds: Int64 = 30 * 86_400

    private static let idBytes = 5
    private static let secretBytes = 20

    /// Makes a secret with the kernel's random generator.
    package static func random(_ kind: Kind) -> AccessSecret {
        AccessSecret(
            kind: kind, id: Base32.encode(randomBytes(idBytes)), secret: Base32.encode(randomBytes(secretBytes)))
    }

    private init(kind: Kind, id: String, secret: String) {
        (self.kind, self.id, self.secret) = (kind, id, secret)
    }

    /// Reads the text of a secret. Blanks are ignored, and upper case is converted.
    ///
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longestText else { return nil }
        let parts = text.utf8.filter { $0 > 0x20 }.map { Self.lowercased($0) }
            .split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = Kind(rawValue: String(decoding: parts[0], as: UTF8.self)) else { return nil }
        self.init(
            kind: kind, id: String(decoding: parts[1], as: UTF8.self), secret: String(decoding: parts[2], as: UTF8.self)
        )
        guard Self.isID(id), Base32.isEncoded(secret), secret.utf8.count == Self.secretBytes / 5 * 8 else { return nil }
    }

    /// Most bytes of the text of a secret, and of a field that carries it.
    package static let longestText = 128

    /// Whether a text has the form of an ID.
    static func isID(_ text: String) -> Bool { Base32.isEncoded(text) && text.utf8.count == idBytes / 5 * 8 }

    /// The whole text, including the secret, for the owner.
    package var text: String { "\(kind.rawValue)_\(id)_\(secret)" }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension AccessSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(kind.rawValue)_\(id)_..." }

    package var debugDescription: String { description }

    /// Omits the secret, because `dump` and failed tests print the mirror.
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// - Parameter count: at most 256 (getentropy(3)).
func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        // Trap: getentropy(3) fails only on a system without a random generator, which shows before a client connects,
        // and without one no secret can be made.
        precondition(getentropy(buffer.baseAddress, count) == 0, "the system has no random numbers")
        filled = count
    }
}
