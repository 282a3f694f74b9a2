/// `Content-Disposition` (RFC 6266; of the parts of a form RFC 7578, section 4.2).
package struct ContentDisposition: Equatable, Sendable {
    /// Parameters of one field. Those that are in use have one to three.
    package static let mostParameters = 16

    /// With small letters: `attachment`, `inline`, `form-data`.
    package let type: String

    /// Of a form's field.
    package let name: [UInt8]?

    /// As it came: percent signs in it are part of the name, since clients do not agree on whether they encode
    /// something.
    package let plainFilename: [UInt8]?

    /// `filename*` (RFC 8187), decoded; UTF-8.
    package let extendedFilename: [UInt8]?

    /// The extended one where there are both (RFC 6266, section 4.3).
    package var filename: [UInt8]? { extendedFilename ?? plainFilename }

    /// - Returns: nothing when it is malformed, has a parameter twice, or escapes something in quotes that is no quote
    ///   and no backslash: browsers leave backslashes as they are there, others don't.
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

    /// What is sent with content that is to be saved under a name.
    ///
    /// - Parameter filename: one name; whatever bytes it has, the field has only ASCII without controls.
    package static func attachment(_ filename: String) -> String { text("attachment", filename) }

    /// The same with content that may be shown in place.
    package static func inline(_ filename: String) -> String { text("inline", filename) }

    private static func text(_ type: String, _ filename: String) -> String {
        let isPlain = filename.utf8.allSatisfy(isPlainInQuotes)
        let plain = filename.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.isASCII && isPlainInQuotes(UInt8(truncatingIfNeeded: scalar.value)) ? scalar : "_"
        }
        let text = "\(type); filename=\"\(String(String.UnicodeScalarView(plain)))\""
        return isPlain ? text : text + "; filename*=" + ExtendedValue.encoded(filename)
    }

    /// Percent signs are not: some clients decode them (RFC 6266, appendix D).
    private static func isPlainInQuotes(_ byte: UInt8) -> Bool {
        0x20..<0x7F ~= byte && !"\"\\%".utf8.contains(byte)
    }
}

/// Values of parameters in UTF-8 (RFC 8187, section 3.2).
enum ExtendedValue {
    static func encoded(_ text: String) -> String { "UTF-8''" + PercentEncoding.encoded(text.utf8, isPlain) }

    /// - Returns: nothing when it is malformed, in another charset than UTF-8, which is the only one that the RFC
    ///   demands, or has a control in it.
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

    /// attr-char (section 3.2.1).
    private static func isPlain(_ byte: UInt8) -> Bool { HTTPCharacter.isToken(byte) && !"*'%".utf8.contains(byte) }
}
