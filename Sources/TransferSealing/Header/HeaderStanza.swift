/// One recipient's part of a header, of whatever type: some words, and bytes.
struct HeaderStanza: Equatable, Sendable {
    /// One or more, none empty, of visible characters of ASCII.
    let arguments: [String]
    var body: [UInt8] = []

    /// Characters of a whole line of the body. A shorter one, which may be empty, ends it.
    static let lineLength = 64

    /// Bytes that such a line stands for.
    private static let lineBytes = lineLength / 4 * 3

    /// With the line feed behind its last line.
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
