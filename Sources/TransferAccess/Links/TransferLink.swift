package import TransferKeys
package import TransferModel

/// A link with everything that a client needs for its first push to a server:
/// `transfer://HOST[:PORT][/FOLDER][#code=pair_ID_SECRET,key=FINGERPRINT]`.
///
/// It consists of letters, digits and `-._~:/[]%#=,`, which have no meaning for a shell inside single quotes. The part
/// after `#` is secret and, as in a browser's link, never sent.
package struct TransferLink: Equatable, Sendable {
    /// A host name, an IPv4 address, or an IPv6 address without its brackets.
    package let host: String

    package let port: UInt16

    package let folder: RelativePath?

    /// Pairing code that enrols the client's key; nil if the link has none.
    package let code: AccessSecret?

    /// Fingerprint of the server's key, by which the client recognises the server; nil if the link has none.
    package let fingerprint: KeyFingerprint?

    package static let scheme = "transfer://"

    /// Port if the link has none.
    package static let defaultPort = ServerPort.usual

    /// Most bytes of a link: a folder of which every byte is escaped, and room for the other parts.
    static let longest = 3 * Limits.path + 1024

    /// Most bytes of a host name (RFC 1035, section 2.3.4).
    static let longestHost = 253

    /// - Returns: nil for an invalid host, or a code that is not for pairing.
    package init?(
        host: String, port: UInt16, folder: RelativePath? = nil, code: AccessSecret? = nil,
        server: KeyFingerprint? = nil
    ) {
        guard Self.isHost(host), code.map({ $0.kind == .pairing }) ?? true else { return nil }
        (self.host, self.port, self.folder, self.code) = (host, port, folder, code)
        fingerprint = server
    }
}

extension TransferLink: CustomStringConvertible {
    /// The link without its secret, for messages.
    package var description: String { address + (code == nil && fingerprint == nil ? "" : "#...") }

    /// The whole link, including the secret, for the user who may use it.
    package var text: String {
        var fields: [String] = []
        if let code { fields.append("code=\(code.text)") }
        if let fingerprint {
            fields.append("key=" + String(decoding: fingerprint.digits.utf8.map(Self.urlDigit), as: UTF8.self))
        }
        return fields.isEmpty ? address : "\(address)#\(fields.joined(separator: ","))"
    }

    private var address: String {
        let host = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(Self.scheme)\(host):\(port)" + (folder.map { "/" + Self.escaped($0.string) } ?? "")
    }

    /// Converts a digit of Base64 to base64url (RFC 4648, section 5).
    private static func urlDigit(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: digit
        }
    }

    /// Encodes all bytes but unreserved characters and slashes (RFC 3986, section 2.1).
    private static func escaped(_ path: String) -> String {
        var escaped = ""
        for byte in path.utf8 {
            if isAlphanumeric(byte) || "-._~/".utf8.contains(byte) {
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                escaped += "%" + String(hexadecimal: CollectionOfOne(byte))
            }
        }
        return escaped
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }
}
