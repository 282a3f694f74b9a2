/// Cookies (RFC 6265), as far as the server needs them for sessions.
package enum CookieField {
    /// Most bytes of a value. The values of sessions are far shorter.
    package static let longestValue = 1 << 10

    /// Finds a cookie. Browsers also send cookies of other programs on the same host, whatever their port. Those are
    /// ignored, even if they are malformed.
    ///
    /// - Parameters:
    ///   - name: case-sensitive (section 4.1.1).
    ///   - lines: values of the field's lines.
    /// - Returns: nil if the cookie is missing. If it occurs twice, is too long or contains anything but
    ///   `cookie-octet`, the result is empty, which is the secret of no session.
    package static func value(_ name: String, in lines: [[UInt8]]) -> String? {
        let values = lines.flatMap { line in
            line.split(separator: UInt8(ascii: ";")).compactMap { pair(FieldSyntax.trimmed($0), named: name) }
        }
        guard let value = values.first else { return nil }
        guard values.count == 1, value.count <= longestValue, value.allSatisfy(isOctet) else { return "" }
        return String(decoding: value, as: UTF8.self)
    }

    /// Value of a pair after the first equals sign; nil if it has another name.
    private static func pair(_ pair: ArraySlice<UInt8>, named name: String) -> ArraySlice<UInt8>? {
        guard let sign = pair.firstIndex(of: UInt8(ascii: "=")),
            FieldSyntax.trimmed(pair[..<sign]).elementsEqual(name.utf8)
        else { return nil }
        return FieldSyntax.trimmed(pair[(sign + 1)...])
    }

    /// Whether a byte is a `cookie-octet` (section 4.1.1).
    private static func isOctet(_ byte: UInt8) -> Bool {
        HTTPCharacter.isVisible(byte) && !"\",;\\".utf8.contains(byte)
    }

    /// Makes a cookie that browsers send back only to this host, on all paths, that scripts cannot read, and that is
    /// not sent with requests from other sites (RFC 6265bis, section 4.1.2).
    ///
    /// - Parameters:
    ///   - seconds: lifetime; 0 or less removes the cookie.
    ///   - isSecure: whether the browser may send the cookie only over TLS.
    /// - Returns: the value of `Set-Cookie`; nil for an invalid name or value.
    package static func setting(_ name: String, to value: String, seconds: Int64, isSecure: Bool) -> String? {
        guard HTTPCharacter.isToken(name.utf8), value.utf8.count <= longestValue, value.utf8.allSatisfy(isOctet) else {
            return nil
        }
        let secure = isSecure ? "; Secure" : ""
        return "\(name)=\(value); Path=/\(secure); HttpOnly; SameSite=Strict; Max-Age=\(max(0, seconds))"
    }
}
