/// The head of an answer in HTTP/1.1, line by line into the bytes that are sent: a server makes one for each request. As
/// `HeadWriter`, it writes nothing that a reader here would refuse.
package struct AnswerHead {
    private var bytes: [UInt8] = []
    private var isSayable: Bool
    /// Whether a line says where the content ends.
    private var isFramed = false
    /// Whether there can be content behind it (RFC 9110, section 8.6).
    private let mayHaveContent: Bool

    /// - Parameters:
    ///   - status: 100 to 599.
    ///   - room: bytes that are likely to be written.
    package init(_ status: Int, room: Int) {
        isSayable = (100...599).contains(status)
        mayHaveContent = status >= 200 && status != 204
        bytes.reserveCapacity(room)
        append("HTTP/1.1 ")
        append("\(status) ")
        append(HTTPStatus.reason(status) ?? "")
        bytes += HeadWriter.lineEnd
    }

    /// Adds a line. The length of the content has a way of its own.
    package mutating func append(_ name: String, _ value: String) {
        if HTTPCharacter.areSame(name.utf8, "content-length") { isSayable = false }
        if HTTPCharacter.areSame(name.utf8, "transfer-encoding") {
            frame(isAllowed: mayHaveContent && HTTPCharacter.areSame(value.utf8, "chunked"))
        }
        line(name, value)
    }

    /// Says how long the content is.
    package mutating func append(length: UInt64) {
        frame(isAllowed: length <= HTTPLimits.length && (mayHaveContent || length == 0))
        line("content-length", "\(length)")
    }

    /// - Parameter content: stands behind it.
    /// - Returns: nothing when the status, a name or a value cannot be sent, or the content ends in two ways or where there can
    ///   be none.
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
        // Where they are one behind the other; what is not sayable is never given to anybody.
        if !isToken || !bytes[start...].allSatisfy(HTTPCharacter.isValue) { isSayable = false }
        bytes += HeadWriter.lineEnd
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
}
