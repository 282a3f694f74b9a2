import TransferKeys
import TransferModel

extension TransferLink {
    /// The reason why a text is not a link.
    package enum Fault: Error, Equatable, Sendable {
        case noHost
        case badPort
        case badFolder(String)
        /// The link contains an access token, which is no longer secret because it was in an argument.
        case token
        case badCode
        case badKey
        case unknownField(String)
    }

    /// Reads a link. An unknown field is a fault, because ignoring a condition could be unsafe.
    ///
    /// - Parameter text: must begin with `scheme`.
    package init(_ text: String) throws(Fault) {
        guard text.hasPrefix(Self.scheme), text.utf8.count <= Self.longest else { throw .noHost }
        let rest = text.utf8.dropFirst(Self.scheme.utf8.count)
        let hash = rest.firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex
        let slash = rest[..<hash].firstIndex(of: UInt8(ascii: "/")) ?? hash
        (host, port) = try Self.authority(rest[..<slash])
        folder = try Self.folder(rest[slash..<hash].drop { $0 == UInt8(ascii: "/") })
        (code, fingerprint) = try Self.fields(rest[hash...].dropFirst())
    }

    private static func authority(_ text: Substring.UTF8View) throws(Fault) -> (String, UInt16) {
        let isBracketed = text.first == UInt8(ascii: "[")
        guard let end = isBracketed ? text.firstIndex(of: UInt8(ascii: "]")) : text.endIndex else { throw .noHost }
        let host = isBracketed ? text[..<end].dropFirst() : text.prefix { $0 != UInt8(ascii: ":") }
        let rest = isBracketed ? text[end...].dropFirst() : text[host.endIndex...]
        let name = String(Substring(host))
        guard isHost(name), isBracketed == name.utf8.contains(UInt8(ascii: ":")) else { throw .noHost }
        guard !rest.isEmpty else { return (name, defaultPort) }
        let digits = rest.dropFirst()
        guard rest.first == UInt8(ascii: ":"), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(Substring(digits)), port > 0
        else { throw .badPort }
        return (name, port)
    }

    /// - Returns: nil for the top of the server's directory.
    private static func folder(_ text: Substring.UTF8View) throws(Fault) -> RelativePath? {
        guard !text.isEmpty else { return nil }
        var bytes: [UInt8] = []
        var rest = text.last == UInt8(ascii: "/") ? text.dropLast() : text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = [UInt8](hexadecimal: Substring(rest.prefix(2))), escaped.count == 1 else {
                throw .badFolder("it has a '%' without two hexadecimal digits")
            }
            rest = rest.dropFirst(2)
            bytes += escaped
        }
        guard let path = String(validating: bytes, as: UTF8.self) else { throw .badFolder("it is not UTF-8") }
        do throws(RelativePath.Fault) {
            return try RelativePath(path)
        } catch {
            throw .badFolder(error.message)
        }
    }

    private static func fields(_ text: Substring.UTF8View) throws(Fault) -> (AccessSecret?, KeyFingerprint?) {
        var (code, fingerprint): (AccessSecret?, KeyFingerprint?)
        for field in text.split(separator: UInt8(ascii: ",")) {
            let name = String(Substring(field.prefix { $0 != UInt8(ascii: "=") }))
            let value = Substring(field.dropFirst(name.utf8.count + 1))
            switch name {
            case "code" where code == nil:
                code = AccessSecret(String(value))
                guard let code else { throw .badCode }
                guard code.kind == .pairing else { throw .token }
            case "key" where fingerprint == nil:
                fingerprint = Base64.decode(String(decoding: value.utf8.map(base64Digit), as: UTF8.self))
                    .flatMap { Bytes32($0) }.map { KeyFingerprint($0) }
                guard fingerprint != nil else { throw .badKey }
            default: throw .unknownField(name)
            }
        }
        return (code, fingerprint)
    }

    private static func base64Digit(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        // In this form, neither digit is valid: base64url has others in their place.
        case UInt8(ascii: "+"), UInt8(ascii: "/"): UInt8(ascii: "!")
        default: digit
        }
    }

    /// Whether the text has the form of a host name or address; the resolver decides whether it exists.
    package static func isHost(_ host: String) -> Bool {
        let isAddress = host.utf8.contains(UInt8(ascii: ":"))
        return !host.isEmpty && host.utf8.count <= longestHost && host.utf8.first != UInt8(ascii: "-")
            && host.utf8.allSatisfy { isAlphanumeric($0) || (isAddress ? ":." : "-._").utf8.contains($0) }
    }
}
