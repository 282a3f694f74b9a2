package import TransferKeys
package import TransferModel

/// All that a client needs to push to a server for the first time, in one word:
/// `transfer://HOST[:PORT][/FOLDER][#code=pair_ID_SECRET,key=FINGERPRINT]`.
///
/// It is made of letters, digits and `-._~:/[]%#=,` alone, none of which means anything to a shell between single
/// quotes. What stands behind `#` is secret, as in a link for a browser it is not sent anywhere.
package struct TransferLink: Equatable, Sendable {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    package let host: String

    package let port: UInt16

    package let folder: RelativePath?

    /// Enrols the client's key.
    package let code: AccessSecret?

    /// Of the server's key, which tells the server from others.
    package let fingerprint: KeyFingerprint?

    package static let scheme = "transfer://"

    /// The port of a link that names none.
    package static let defaultPort = ServerPort.usual

    /// Bytes of a link: a path with every byte escaped, and room for the rest.
    static let longest = 3 * Limits.path + 1024

    /// Bytes of a host name (RFC 1035, section 2.3.4).
    static let longestHost = 253

    /// - Returns: nothing for a host that no link can have.
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
    /// Without its secret, for messages.
    package var description: String { address + (code == nil && fingerprint == nil ? "" : "#...") }

    /// All of it, to be shown to whoever may use it.
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

    /// As in base64url (RFC 4648, section 5).
    private static func urlDigit(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: digit
        }
    }

    /// Percent-encoding (RFC 3986, section 2.1) of all but unreserved characters and slashes.
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
