/// Writes heads. Refuses names that are not tokens, and values with line ends or other control characters, which would
/// turn one message into two.
package enum HeadWriter {
    /// - Returns: nil if the target, a name, a value, Host, Expect or the declared length is invalid.
    package static func bytes(_ head: RequestHead) -> [UInt8]? {
        guard head.method != .connect, RequestTarget.isValid(head.target, head.method), (try? head.checked()) != nil
        else { return nil }
        return bytes("\(head.method.name) \(head.target) \(head.version.text)", head.fields)
    }

    /// - Returns: nil if the status is not 100 to 599, or the phrase, a name, a value or the declared length is
    ///   invalid.
    package static func bytes(_ head: ResponseHead) -> [UInt8]? {
        let reason = head.reason ?? HTTPStatus.reason(head.status) ?? ""
        guard (100...599).contains(head.status), reason.utf8.allSatisfy(HTTPCharacter.isValue),
            (try? head.length()) != nil
        else { return nil }
        return bytes("\(head.version.text) \(head.status) \(reason)", head.fields)
    }

    private static func bytes(_ line: String, _ fields: HTTPFields) -> [UInt8]? {
        var bytes = Array(line.utf8) + lineEnd
        return append(fields, to: &bytes) ? bytes : nil
    }

    static let lineEnd: [UInt8] = [HTTPCharacter.carriageReturn, HTTPCharacter.lineFeed]

    /// Appends the lines and the empty line after them.
    ///
    /// - Returns: false if a line is invalid.
    static func append(_ fields: HTTPFields, to bytes: inout [UInt8]) -> Bool {
        for field in fields.lines {
            guard HTTPCharacter.isToken(field.name.utf8), field.value.allSatisfy(HTTPCharacter.isValue) else {
                return false
            }
            append(name: field.name, to: &bytes)
            bytes += [UInt8(ascii: ":"), HTTPCharacter.space]
            bytes += field.value
            bytes += lineEnd
        }
        bytes += lineEnd
        return true
    }

    /// Appends a name with capitalised words, as people and simple programs expect.
    static func append(name: String, to bytes: inout [UInt8]) {
        var isFirst = true
        for byte in name.utf8 {
            let small = HTTPCharacter.lowercase(byte)
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(small)
            bytes.append(isFirst && isLetter ? small - 0x20 : small)
            isFirst = byte == UInt8(ascii: "-")
        }
    }
}
