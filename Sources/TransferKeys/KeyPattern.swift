import TransferModel

/// A public key as a user writes it: a fingerprint, or the key itself in one of several forms.
package enum KeyPattern: Equatable, Sendable {
    case fingerprint(String)
    case key(PublicKey)

    /// - Parameter text: a fingerprint (`SHA256:…`), 64 hexadecimal digits, 32 or 44 bytes in Base64, or PEM.
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        let prefix = "SHA256:"
        if text.hasPrefix(prefix) {
            guard Base64.decode(text.utf8.dropFirst(prefix.utf8.count).text)?.count == Bytes32.count else { return nil }
            self = .fingerprint(String(text.utf8.prefix { $0 != UInt8(ascii: "=") }.text))
        } else if let raw = KeyDocument.key(text, KeyDocument.publicLabel, KeyDocument.publicPrefix) {
            self = .key(PublicKey(raw))
        } else if let bytes = [UInt8](hexadecimal: text) ?? Base64.decode(text),
            let key = PublicKey(bytes.starts(with: KeyDocument.publicPrefix) ? bytes.dropFirst(12)[...] : bytes[...])
        {
            self = .key(key)
        } else {
            return nil
        }
    }

    package func matches(_ key: PublicKey) -> Bool {
        switch self {
        case .fingerprint(let fingerprint): key.fingerprint == fingerprint
        case .key(let wanted): key == wanted
        }
    }
}

extension Substring.UTF8View {
    fileprivate var text: Substring { Substring(self) }
}
