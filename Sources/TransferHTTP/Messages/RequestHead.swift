/// The head of a request: everything before its content.
package struct RequestHead: Equatable, Sendable {
    package let method: HTTPMethod

    /// The request target as it was sent, at least one byte of visible ASCII: a path with its query, an absolute URI,
    /// or `*` (RFC 9112, section 3.2).
    package let target: String

    package let version: HTTPVersion
    package let fields: HTTPFields

    package init(
        _ method: HTTPMethod, _ target: String, version: HTTPVersion = .http11, fields: HTTPFields = HTTPFields()
    ) {
        (self.method, self.target, self.version, self.fields) = (method, target, version, fields)
    }

    /// Whether the connection stays open after the answer (RFC 9112, section 9.3). If not, bytes after the request must
    /// be ignored.
    package var isPersistent: Bool { fields.isPersistent(version) }

    /// Whether the client may wait for a 100 before it sends content. The field is ignored in HTTP/1.0 (RFC 9110,
    /// section 10.1.1).
    package var expectsContinue: Bool {
        version == .http11 && fields.list("expect").contains { HTTPCharacter.areSame($0.utf8, "100-continue") }
    }

    /// Path and query: the target without the scheme and authority of an absolute URI. If that URI has no path, the
    /// result is `/`, or `*` for OPTIONS (RFC 9112, section 3.2.4).
    package var resource: String {
        guard target.utf8.first != UInt8(ascii: "/"), let authority = RequestTarget.authority(of: target.utf8) else {
            return target
        }
        let rest = target.utf8[authority.endIndex...]
        switch rest.first {
        case UInt8(ascii: "/"): return String(Substring(rest))
        case nil: return method == .options ? "*" : "/"
        default: return "/" + Substring(rest)
        }
    }
}
