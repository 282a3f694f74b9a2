internal import TransferModel

/// Percent-encoding, such as `%41` (RFC 3986, section 2.1).
package enum PercentEncoding {
    /// Encodes a path for links and `Location`; slashes and unreserved characters (section 2.3) stay unencoded.
    package static func path(_ path: some Sequence<UInt8>) -> String {
        encoded(path) { isUnreserved($0) || $0 == UInt8(ascii: "/") }
    }

    /// Encodes one name, or a key or value of a query; only unreserved characters stay unencoded.
    package static func component(_ component: some Sequence<UInt8>) -> String { encoded(component, isUnreserved) }

    static func encoded(_ bytes: some Sequence<UInt8>, _ isPlain: (UInt8) -> Bool) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if isPlain(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text once. If the result looks encoded, it is not decoded again.
    ///
    /// - Returns: nil if a percent sign is not followed by two digits.
    package static func decoded(_ text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        var reader = FieldReader(text)
        var bytes: [UInt8] = []
        while true {
            let plain = reader.take { $0 != UInt8(ascii: "%") }
            bytes += plain.map { plusIsSpace && $0 == UInt8(ascii: "+") ? 0x20 : $0 }
            guard reader.take("%") else { return bytes }
            guard let pair = reader.take(2), let byte = Hexadecimal.number(pair) else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: byte))
        }
    }

    static func isUnreserved(_ byte: UInt8) -> Bool {
        FieldSyntax.isLetter(byte) || HTTPCharacter.isDigit(byte) || "-._~".utf8.contains(byte)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}
