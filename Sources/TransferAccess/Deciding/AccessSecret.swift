import Glibc

/// What a client shows to be let in where it has no key, or to have its key enrolled: `transfer_ID_SECRET` or
/// `pair_ID_SECRET`; for browsers `web_ID_SECRET` in a link, and `session_ID_SECRET` in a cookie.
///
/// It is shown once, to its owner, and never logged: as a description it is without its secret.
package struct AccessSecret: Equatable, Sendable {
    /// What it is good for.
    package enum Kind: String, CaseIterable, Sendable {
        /// Uploading, until it expires or is revoked.
        case token = "transfer"
        /// Enrolling the key of one client.
        case pairing = "pair"
        /// Beginning the session of one browser, as part of a link.
        case web = "web"
        /// What a browser shows while its session lasts.
        case session = "session"
    }

    package let kind: Kind

    /// What it is found by; no secret. Eight digits, 40 bits: enough that no two of a list are the same.
    package let id: String

    /// 32 digits, 160 bits.
    let secret: String

    /// How long a pairing code or a link is good for: ten minutes, enough to walk to the other machine.
    package static let pairingSeconds: Int64 = 600

    /// How long a session lasts by default: 30 days.
    package static let sessionSeconds: Int64 = 30 * 86_400

    private static let idBytes = 5
    private static let secretBytes = 20

    /// A new one, from the kernel's generator.
    package static func random(_ kind: Kind) -> AccessSecret {
        AccessSecret(
            kind: kind, id: Base32.encode(randomBytes(idBytes)), secret: Base32.encode(randomBytes(secretBytes)))
    }

    private init(kind: Kind, id: String, secret: String) {
        (self.kind, self.id, self.secret) = (kind, id, secret)
    }

    /// Reads what `text` gives. Blanks around it are left out, and large letters taken for small ones.
    ///
    /// - Returns: nothing for anything else.
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

    /// Bytes that are worth looking at; also the limit of the field that carries it.
    package static let longestText = 128

    /// Whether a text can be an id.
    static func isID(_ text: String) -> Bool { Base32.isEncoded(text) && text.utf8.count == idBytes / 5 * 8 }

    /// All of it, to be shown to its owner.
    package var text: String { "\(kind.rawValue)_\(id)_\(secret)" }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension AccessSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(kind.rawValue)_\(id)_..." }

    package var debugDescription: String { description }

    /// Not the secret, which `dump` and failed tests would print.
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// - Parameter count: at most 256 (getentropy(3)).
func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        // Trap: it fails for nothing but a system without a generator, before anybody connects; without one nothing here can
        // be secret.
        precondition(getentropy(buffer.baseAddress, count) == 0, "the system has no random numbers")
        filled = count
    }
}
