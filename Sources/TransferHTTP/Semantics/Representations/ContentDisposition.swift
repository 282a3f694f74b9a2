/// `Content-Disposition` (RFC 6266; in parts of a form RFC 7578, section 4.2).
package struct ContentDisposition: Equatable, Sendable {
    /// Most parameters of one field. In practice there are one to three.
    package static let mostParameters = 16

    /// The type in lower case: `attachment`, `inline`, `form-data`.
    package let type: String

    /// Name of the form's field.
    package let name: [UInt8]?

    /// `filename` as it was sent. Percent signs are not decoded, because clients do not agree on whether they encode.
    package let plainFilename: [UInt8]?

    /// `filename*` (RFC 8187), decoded; UTF-8.
    package let extendedFilename: [UInt8]?

    /// The file name; the extended one if both are present (RFC 6266, section 4.3).
    package var filename: [UInt8]? { extendedFilename ?? plainFilename }

    /// - Returns: nil if the value is malformed, has a parameter twice, or escapes a character in quotes other than
    ///   quote and backslash, because browsers do not escape backslashes and other clients do.
    package init?(_ value: some Sequence<UInt8>) {
        var reader = FieldReader(value)
        guard !Self.hasOddEscape(reader.rest), let type = reader.token(),
            let parameters = reader.parameters(most: Self.mostParameters)
        else { return nil }
        func parameter(_ name: String) -> [UInt8]? { parameters.first { $0.name == name }?.value }
        var extended: [UInt8]?
        if let value = parameter("filename*") {
            extended = ExtendedValue.decoded(value)
            guard extended != nil else { return nil }
        }
        self.type = FieldSyntax.lowercased(type)
        name = parameter("name")
        plainFilename = parameter("filename")
        extendedFilename = extended
    }

    private static func hasOddEscape(_ value: ArraySlice<UInt8>) -> Bool {
        var isEscaped = false
        for byte in value {
            if isEscaped {
                guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { return true }
                isEscaped = false
            } else {
                isEscaped = byte == UInt8(ascii: "\\")
            }
        }
        return isEscaped
    }

    /// The value for content that is to be saved under this name.
    ///
    /// - Parameter filename: one name of any bytes; the value has only ASCII without control characters.
    package static func attachment(_ filename: String) -> String { text("attachment", filename) }

    /// The value for content that a browser may display.
    package static func inline(_ filename: String) -> String { text("inline", filename) }

    private static func text(_ type: String, _ filename: String) -> String {
        let isPlain = filename.utf8.allSatisfy(isPlainInQuotes)
        let plain = filename.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.isASCII && isPlainInQuotes(UInt8(truncatingIfNeeded: scalar.value)) ? scalar : "_"
        }
        let text = "\(type); filename=\"\(String(String.UnicodeScalarView(plain)))\""
        return isPlain ? text : text + "; filename*=" + ExtendedValue.encoded(filename)
    }

    /// Percent signs are encoded, because some clients decode them (RFC 6266, appendix D).
    private static func isPlainInQuotes(_ byte: UInt8) -> Bool {
        0x20..<0x7F ~= byte && !"\"\\%".utf8.contains(byte)
    }
}

/// Values of extended parameters in UTF-8 (RFC 8187, section 3.2).
enum ExtendedValue {
    static func encoded(_ text: String) -> String { "UTF-8''" + PercentEncoding.encoded(text.utf8, isPlain) }

    /// - Returns: nil if it is malformed, contains a control character, or has another charset than UTF-8, the only one
    ///   that the RFC demands.
    static func decoded(_ value: [UInt8]) -> [UInt8]? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, HTTPCharacter.areSame(parts[0], "utf-8"), parts[1].allSatisfy(isLanguage),
            parts[2].allSatisfy({ isPlain($0) || $0 == UInt8(ascii: "%") }),
            let bytes = PercentEncoding.decoded(parts[2]), String(validating: bytes, as: UTF8.self) != nil,
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        return bytes
    }

    private static func isLanguage(_ byte: UInt8) -> Bool {
        FieldSyntax.isLetter(byte) || HTTPCharacter.isDigit(byte) || byte == UInt8(ascii: "-")
    }

    /// Whether a byte is an attr-char (section 3.2.1).
    private static func isPlain(_ byte: UInt8) -> Bool { HTTPCharacter.isToken(byte) && !"*'%".utf8.contains(byte) }
}
