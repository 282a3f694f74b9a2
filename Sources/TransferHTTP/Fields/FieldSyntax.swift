/// Syntax that field values have in common (RFC 9110, section 5.6).
enum FieldSyntax {
    static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }

    /// The text in lower case; only ASCII letters change.
    static func lowercased(_ text: some Sequence<UInt8>) -> String {
        String(decoding: text.map(HTTPCharacter.lowercase), as: UTF8.self)
    }

    /// The text without spaces and tabs around it (section 5.6.3).
    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let front = text.drop(while: HTTPCharacter.isBlank)
        return front.prefix(front.count - front.reversed().prefix(while: HTTPCharacter.isBlank).count)
    }

    /// The text in quotes, with quotes and backslashes escaped (section 5.6.4).
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// Reads a number that consists only of digits.
    ///
    /// - Returns: nil for any other text, and for numbers above `Int64.max`.
    static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard HTTPCharacter.isDigit(digit) else { return nil }
            let (tens, tooMany) = number.multipliedReportingOverflow(by: 10)
            let (sum, tooLarge) = tens.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            guard !tooMany, !tooLarge else { return nil }
            number = sum
        }
        return number
    }
}
