/// A method: a token whose case matters (RFC 9110, section 9.1).
package struct HTTPMethod: Hashable, Sendable {
    package let name: String

    /// - Returns: nil if the name is not a token or has more than `HTTPLimits.method` bytes.
    package init?(_ name: String) {
        guard name.utf8.count <= HTTPLimits.method, HTTPCharacter.isToken(name.utf8) else { return nil }
        self.name = name
    }

    private init(known name: String) {
        self.name = name
    }

    package static let get = HTTPMethod(known: "GET")
    package static let head = HTTPMethod(known: "HEAD")
    package static let put = HTTPMethod(known: "PUT")
    package static let post = HTTPMethod(known: "POST")
    package static let patch = HTTPMethod(known: "PATCH")
    package static let delete = HTTPMethod(known: "DELETE")
    package static let options = HTTPMethod(known: "OPTIONS")

    /// Only clients of this program use this method (RFC 4918, section 9.3).
    package static let makeCollection = HTTPMethod(known: "MKCOL")

    /// A server refuses this method, because it is not a proxy.
    static let connect = HTTPMethod(known: "CONNECT")
}
