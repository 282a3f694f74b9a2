/// The forms of a request target (RFC 9112, section 3.2).
enum RequestTarget {
    private static let schemes = ["http://", "https://"]

    /// Whether a target is valid: it is a path, an HTTP URI, or `*` for OPTIONS, and consists of visible ASCII without
    /// `#`, because fragments are not sent and some readers would cut them off.
    static func isValid(_ target: String, _ method: HTTPMethod) -> Bool {
        let text = target.utf8
        guard let first = text.first, text.allSatisfy({ HTTPCharacter.isVisible($0) && $0 != UInt8(ascii: "#") })
        else { return false }
        if first == UInt8(ascii: "/") || authority(of: text) != nil { return true }
        return first == UInt8(ascii: "*") && text.count == 1 && method == .options
    }

    /// The authority of a target that is an absolute HTTP URI; nil for any other target.
    static func authority(of target: Substring.UTF8View) -> Substring.UTF8View? {
        let scheme = schemes.first { HTTPCharacter.areSame(target.prefix($0.utf8.count), $0) }
        guard let scheme else { return nil }
        return target.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    }

    static func authority(of target: String.UTF8View) -> Substring.UTF8View? {
        authority(of: target[...])
    }
}
