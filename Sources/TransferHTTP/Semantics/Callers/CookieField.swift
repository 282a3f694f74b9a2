/// Cookies (RFC 6265), as far as a server needs them for one of its own.
package enum CookieField {
    /// Bytes of a value that is worth looking at; those of sessions are far shorter.
    package static let longestValue = 1 << 10

    /// Finds a cookie. Cookies of other programs under the same host, which browsers send along whatever the port is, are
    /// passed over, whatever they look like.
    ///
    /// - Parameters:
    ///   - name: as it is; the case of letters counts (section 4.1.1).
    ///   - lines: values of the field's lines.
    /// - Returns: nothing where it is not there. One that comes twice, that is too long or that has something else than
    ///   `cookie-octet` in it, as quotes, is an empty one, which nobody has.
    package static func value(_ name: String, in lines: [[UInt8]]) -> String? {
        let values = lines.flatMap { line in
            line.split(separator: UInt8(ascii: ";")).compactMap { pair(FieldSyntax.trimmed($0), named: name) }
        }
        guard let value = values.first else { return nil }
        guard values.count == 1, value.count <= longestValue, value.allSatisfy(isOctet) else { return "" }
        return String(decoding: value, as: UTF8.self)
    }

    /// What stands behind the first equals sign, where the name stands in front of it.
    private static func pair(_ pair: ArraySlice<UInt8>, named name: String) -> ArraySlice<UInt8>? {
        guard let sign = pair.firstIndex(of: UInt8(ascii: "=")),
            FieldSyntax.trimmed(pair[..<sign]).elementsEqual(name.utf8)
        else { return nil }
        return FieldSyntax.trimmed(pair[(sign + 1)...])
    }

    /// `cookie-octet` (section 4.1.1).
    private static func isOctet(_ byte: UInt8) -> Bool {
        HTTPCharacter.isVisible(byte) && !"\",;\\".utf8.contains(byte)
    }

    /// Sets a cookie that this host alone gets back, for all its paths, that no script sees and that comes with no request of
    /// another site (RFC 6265bis, section 4.1.2).
    ///
    /// - Parameters:
    ///   - seconds: how long it is kept; none for one that is taken back.
    ///   - isSecure: whether it travels over TLS alone.
    /// - Returns: the value of `Set-Cookie`; nothing for a name or a value that cannot be one.
    package static func setting(_ name: String, to value: String, seconds: Int64, isSecure: Bool) -> String? {
        guard HTTPCharacter.isToken(name.utf8), value.utf8.count <= longestValue, value.utf8.allSatisfy(isOctet) else {
            return nil
        }
        let secure = isSecure ? "; Secure" : ""
        return "\(name)=\(value); Path=/\(secure); HttpOnly; SameSite=Strict; Max-Age=\(max(0, seconds))"
    }
}
