internal import TransferKeys

/// Base64 without padding (RFC 4648, section 4), in the only form for given bytes (section 3.5).
enum UnpaddedBase64 {
    static func encode(_ bytes: [UInt8]) -> String {
        String(Substring(Base64.encode(bytes).utf8.prefix { $0 != UInt8(ascii: "=") }))
    }

    /// - Parameter digits: an argument or a line, hence short.
    /// - Returns: nil for text that `encode` would not write.
    static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard !digits.isEmpty else { return [] }
        guard digits.allSatisfy({ $0 != UInt8(ascii: "=") }) else { return nil }
        return Base64.decode(String(decoding: digits, as: UTF8.self))
    }
}
