/// Writes the head of an HTTP/1.1 answer line by line into the bytes that are sent, because a server makes one for each
/// request. Like `HeadWriter`, it writes no head that this program's readers would refuse.
package struct AnswerHead {
    private var bytes: [UInt8] = []
    private var isSayable: Bool
    /// Whether a line that determines the end of the content was added.
    private var isFramed = false
    /// Whether the answer may have content (RFC 9110, section 8.6).
    private let mayHaveContent: Bool

    /// - Parameters:
    ///   - status: 100 to 599.
    ///   - room: number of bytes that will probably be written.
    package init(_ status: Int, room: Int) {
        isSayable = (100...599).contains(status)
        mayHaveContent = status >= 200 && status != 204
        bytes.reserveCapacity(room)
        append("HTTP/1.1 ")
        append("\(status) ")
        append(HTTPStatus.reason(status) ?? "")
        bytes += HeadWriter.lineEnd
    }

    /// Adds a line. The length of the content is added by `append(length:)` instead.
    package mutating func append(_ name: String, _ value: String) {
        if HTTPCharacter.areSame(name.utf8, "content-length") { isSayable = false }
        if HTTPCharacter.areSame(name.utf8, "transfer-encoding") {
            frame(isAllowed: mayHaveContent && HTTPCharacter.areSame(value.utf8, "chunked"))
        }
        line(name, value)
    }

    /// Adds the length of the content.
    package mutating func append(length: UInt64) {
        frame(isAllowed: length <= HTTPLimits.length && (mayHaveContent || length == 0))
        line("content-length", "\(length)")
    }

    /// - Parameter content: bytes to append to the head.
    /// - Returns: nil if the status, a name or a value is invalid, if the end of the content is determined twice, or if
    ///   content is declared where it is forbidden.
    package consuming func bytes(before content: [UInt8] = []) -> [UInt8]? {
        bytes += HeadWriter.lineEnd
        bytes += content
        return isSayable ? bytes : nil
    }

    private mutating func frame(isAllowed: Bool) {
        if isFramed || !isAllowed { isSayable = false }
        isFramed = true
    }

    private mutating func line(_ name: String, _ value: String) {
        let isToken = HTTPCharacter.isToken(name.utf8)
        HeadWriter.append(name: name, to: &bytes)
        append(": ")
        let start = bytes.count
        append(value)
        // The line is checked after it is written, because an invalid head is never returned.
        if !isToken || !bytes[start...].allSatisfy(HTTPCharacter.isValue) { isSayable = false }
        bytes += HeadWriter.lineEnd
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
}
