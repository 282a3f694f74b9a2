/// A pattern in one line of an ignore file.
struct IgnoreLine: Sendable {
    let pattern: GlobPattern

    /// Whether the pattern matches directories only.
    let isForDirectories: Bool

    /// Whether paths that match are not ignored (`!`).
    let isNegated: Bool

    /// - Returns: nil for a line without a pattern.
    init?(_ line: Substring) {
        var text = Substring(line).unicodeScalars
        if text.last == "\r" { text.removeLast() }
        while text.last == " ", !Self.isEscaped(text.dropLast()) { text.removeLast() }
        guard let first = text.first, first != "#" else { return nil }
        isNegated = first == "!"
        if isNegated { text.removeFirst() }
        isForDirectories = text.last == "/"
        if isForDirectories { text.removeLast() }
        let isAnchored = text.contains("/")
        if text.first == "/" { text.removeFirst() }
        guard let pattern = GlobPattern(Substring(text), isAnchored: isAnchored) else { return nil }
        self.pattern = pattern
    }

    /// Whether the character after the text is escaped by a backslash.
    private static func isEscaped(_ text: Substring.UnicodeScalarView) -> Bool {
        text.reversed().prefix { $0 == "\\" }.count % 2 == 1
    }
}
