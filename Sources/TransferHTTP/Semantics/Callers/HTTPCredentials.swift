/// What a request shows of its client (RFC 9110, section 11): a token, as a bearer's or as the password of anybody.
package enum HTTPCredentials {
    /// Bytes of credentials at most; tokens are far shorter.
    package static let longest = 1 << 10

    /// - Parameter authorization: values of the field's lines.
    /// - Returns: nothing where nothing is shown. What is shown and cannot be a token is an empty one, which nobody has.
    package static func token(_ authorization: [[UInt8]]) -> String? {
        guard let value = authorization.first else { return nil }
        guard authorization.count == 1, value.count <= longest,
            let space = value.firstIndex(of: UInt8(ascii: " "))
        else { return "" }
        let scheme = value[..<space]
        let rest = value[space...].drop { $0 == UInt8(ascii: " ") }
        if HTTPCharacter.areSame(scheme, "bearer") { return String(validating: rest, as: UTF8.self) ?? "" }
        return HTTPCharacter.areSame(scheme, "basic") ? password(rest) ?? "" : ""
    }

    /// What stands behind the first colon (RFC 7617); the name in front of it is anybody's.
    private static func password(_ encoded: ArraySlice<UInt8>) -> String? {
        guard let plain = Base64Text.decode(encoded), let colon = plain.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        return String(validating: plain[(colon + 1)...], as: UTF8.self)
    }
}
