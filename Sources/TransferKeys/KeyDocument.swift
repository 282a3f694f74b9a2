/// Ed25519 keys as OpenSSL writes them to files: DER (RFC 8410) in PEM (RFC 7468). Each key has only one form, so
/// nothing else is accepted.
enum KeyDocument {
    /// The DER bytes before a private key: PKCS #8 version 1, the algorithm 1.3.101.112, two octet strings.
    static let privatePrefix: [UInt8] = [
        0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]

    /// The DER bytes before a public key: the algorithm 1.3.101.112 and a bit string.
    static let publicPrefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]

    static let privateLabel = "PRIVATE KEY"
    static let publicLabel = "PUBLIC KEY"

    /// - Returns: the lines of the file.
    static func pem(_ label: String, _ prefix: [UInt8], _ key: Bytes32) -> String {
        "-----BEGIN \(label)-----\n\(Base64.encode(prefix + key.bytes))\n-----END \(label)-----\n"
    }

    /// - Returns: nil unless the text is exactly one key with this label and prefix.
    static func key(_ text: String, _ label: String, _ prefix: [UInt8]) -> Bytes32? {
        let lines = text.utf8.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        guard lines.count == 3, lines[0].elementsEqual("-----BEGIN \(label)-----".utf8),
            lines[2].elementsEqual("-----END \(label)-----".utf8),
            let der = Base64.decode(Substring(lines[1])), der.starts(with: prefix)
        else { return nil }
        return Bytes32(der.dropFirst(prefix.count))
    }
}
