/// A server's key as people give it: a fingerprint, or the key itself in one of several forms.
package enum KeyPattern: Equatable, Sendable {
    case fingerprint(String)
    case key(ServerKey)

    /// - Parameter text: a fingerprint (`SHA256:…`), 64 hexadecimal digits, 32 or 44 bytes in base64, or PEM.
    /// - Returns: nothing when it is none of these.
    package init?(_ text: String) {
        let prefix = "SHA256:"
        if text.hasPrefix(prefix) {
            guard Base64.decode(text.utf8.dropFirst(prefix.utf8.count).text)?.count == Bytes32.count else { return nil }
            self = .fingerprint(String(text.utf8.prefix { $0 != UInt8(ascii: "=") }.text))
        } else if let raw = KeyDocument.key(text, KeyDocument.publicLabel, KeyDocument.publicPrefix) {
            self = .key(ServerKey(raw))
        } else if let bytes = [UInt8](hexadecimal: text) ?? Base64.decode(text),
            let key = ServerKey(bytes.starts(with: KeyDocument.publicPrefix) ? bytes.dropFirst(12)[...] : bytes[...])
        {
            self = .key(key)
        } else {
            return nil
        }
    }

    package func matches(_ key: ServerKey) -> Bool {
        switch self {
        case .fingerprint(let fingerprint): key.fingerprint == fingerprint
        case .key(let wanted): key == wanted
        }
    }
}

extension Substring.UTF8View {
    fileprivate var text: Substring { Substring(self) }
}

extension [UInt8] {
    /// Reads what `String(hexadecimal:)` writes, also with large digits.
    init?(hexadecimal text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(of: digits[index]), let low = Self.value(of: digits[index + 1]) else {
                return nil
            }
            append(high << 4 | low)
        }
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
