/// Resolves a `Location` (RFC 9110, section 10.2.2; RFC 3986, section 5.2).
extension WebAddress {
    package enum Reference: Equatable, Sendable {
        /// Path and query on the same server with the same scheme and port.
        case target(String)
        /// Another host, port or scheme, which must not receive the password or token for this server.
        case otherOrigin
        /// The same server, but without encryption.
        case downgrade
        case malformed
    }

    /// Most bytes of a reference, as of any field line.
    private static let longest = HTTPLimits.fieldLine

    /// - Parameters:
    ///   - reference: the value of `Location`.
    ///   - target: target of the request that was answered.
    package func resolve(_ reference: [UInt8], from target: String) -> Reference {
        guard reference.count <= Self.longest, reference.allSatisfy(HTTPCharacter.isVisible),
            let text = String(validating: reference.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
        else { return .malformed }
        if RequestTarget.authority(of: text.utf8) != nil { return absolute(text) }
        if text.utf8.starts(with: "//".utf8) { return absolute("\(isSecure ? "https" : "http"):\(text)") }
        // A colon before the first slash ends a scheme.
        guard !text.utf8.prefix(while: { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }).contains(0x3A) else {
            return .otherOrigin
        }
        let base = String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
        switch text.utf8.first {
        case nil: return .target(target)
        case UInt8(ascii: "/"): return Self.clean(text)
        case UInt8(ascii: "?"): return Self.clean(base + text)
        default:
            let folder = base.utf8.lastIndex(of: UInt8(ascii: "/")).map { base.utf8[...$0] } ?? "/".utf8[...]
            return Self.clean(String(Substring(folder)) + text)
        }
    }

    private func absolute(_ text: String) -> Reference {
        guard let authority = RequestTarget.authority(of: text.utf8) else { return .malformed }
        let place = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] }
        let rest = String(Substring(text.utf8[authority.endIndex...]))
        let scheme = HTTPCharacter.areSame(text.utf8.prefix(8), "https://") ? "https" : "http"
        guard let other = WebAddress("\(scheme)://\(String(Substring(place ?? authority)))") else { return .malformed }
        guard other.host.utf8.elementsEqual(host.utf8) else { return .otherOrigin }
        guard other.isSecure || !isSecure else { return .downgrade }
        guard other.isSecure == isSecure, other.port == port else { return .otherOrigin }
        return Self.clean(rest.utf8.first == UInt8(ascii: "/") ? rest : "/" + rest)
    }

    /// Removes `.` and `..` (RFC 3986, section 5.2.4).
    private static func clean(_ text: String) -> Reference {
        let path = text.utf8.prefix { $0 != UInt8(ascii: "?") }
        let query = text.utf8[path.endIndex...]
        var names: [Substring.UTF8View] = []
        let parts = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part.count {
            case 1 where part.first == UInt8(ascii: "."):
                if isLast { names.append(part.dropFirst()) }
            case 2 where part.allSatisfy { $0 == UInt8(ascii: ".") }:
                if !names.isEmpty { names.removeLast() }
                if isLast { names.append(part.dropFirst(2)) }
            default: names.append(part)
            }
        }
        return .target("/" + names.map { String(Substring($0)) }.joined(separator: "/") + String(Substring(query)))
    }
}
