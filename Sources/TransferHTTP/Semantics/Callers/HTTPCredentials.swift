/// The token in a request (RFC 9110, section 11), as a bearer token or as a password with any user name.
package enum HTTPCredentials {
    /// Most bytes of credentials; tokens are far shorter.
    package static let longest = 1 << 10

    /// - Parameter authorization: values of the field's lines.
    /// - Returns: nil if there are no credentials. Credentials that cannot be a token become an empty token, which no
    ///   client has.
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

    /// The password after the first colon (RFC 7617); the user name is ignored.
    private static func password(_ encoded: ArraySlice<UInt8>) -> String? {
        guard let plain = Base64Text.decode(encoded), let colon = plain.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        return String(validating: plain[(colon + 1)...], as: UTF8.self)
    }
}
