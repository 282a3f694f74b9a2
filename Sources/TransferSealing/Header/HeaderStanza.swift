/// One recipient's part of a header, of any type: words, and bytes.
struct HeaderStanza: Equatable, Sendable {
    /// One or more words of visible ASCII, none empty.
    let arguments: [String]
    var body: [UInt8] = []

    /// Characters of a full line of the body. A shorter one, which may be empty, ends the body.
    static let lineLength = 64

    /// Bytes that a full line encodes.
    private static let lineBytes = lineLength / 4 * 3

    /// The stanza's lines, each with its line feed.
    var text: String {
        var text = "-> \(arguments.joined(separator: " "))\n"
        var rest = body[...]
        while true {
            text += UnpaddedBase64.encode(Array(rest.prefix(Self.lineBytes))) + "\n"
            guard rest.count >= Self.lineBytes else { return text }
            rest = rest.dropFirst(Self.lineBytes)
        }
    }
}
