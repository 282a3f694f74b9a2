internal import COpenSSL

/// Base64 with padding (RFC 4648, section 4), without line ends.
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        // Trap: `Int32` holds the count, because callers pass keys and digests of some dozens of bytes, or content in
        // small pieces.
        let digits = [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { buffer, count in
            count = Int(EVP_EncodeBlock(buffer.baseAddress, bytes, Int32(bytes.count)))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// - Parameters:
    ///   - text: padding may be missing.
    ///   - longest: most digits; by default 1,024, far more than any key has.
    /// - Returns: nil for text that `encode` would not write, for an empty text, and for too many digits.
    package static func decode(_ text: some StringProtocol, longest: Int = 1024) -> [UInt8]? {
        let digits = Array(text.utf8) + [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.utf8.count % 4) % 4)
        let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard !digits.isEmpty, digits.count <= longest, padding <= 2 else { return nil }
        var isValid = false
        let bytes = [UInt8](unsafeUninitializedCapacity: digits.count) { buffer, count in
            let decoded = Int(EVP_DecodeBlock(buffer.baseAddress, digits, Int32(digits.count)))
            isValid = decoded >= padding
            // OpenSSL counts the padding as bytes.
            count = isValid ? decoded - padding : 0
        }
        // OpenSSL accepts spaces and unused bits that are not zero.
        return isValid && encode(bytes).utf8.elementsEqual(digits) ? bytes : nil
    }
}
