/// Splits a pattern into tokens. Every text is a pattern: a bracket that is not closed matches itself.
struct GlobScanner {
    private let text: [Unicode.Scalar]
    private var position = 0

    init(_ text: some StringProtocol) {
        self.text = Array(text.unicodeScalars)
    }

    /// Number of characters (code points).
    var length: Int { text.count }

    /// The next tokens; nil at the end.
    mutating func next() -> [GlobToken]? {
        guard position < text.count else { return nil }
        if let directories = takeStars() { return directories }
        let character = text[position]
        position += 1
        switch character {
        case "?": return [.any]
        case "[": return [takeSet().map { .oneOf($0) } ?? .character("[")]
        case "\\" where position < text.count:
            position += 1
            return [.character(text[position - 1])]
        default: return [.character(character)]
        }
    }

    /// Several stars count as one, except two that are a whole component.
    private mutating func takeStars() -> [GlobToken]? {
        let stars = text[position...].prefix { $0 == "*" }.count
        guard stars > 0 else { return nil }
        let isFirst = position == 0 || text[position - 1] == "/"
        position += stars
        guard stars == 2, isFirst else { return [.run] }
        guard position < text.count else { return [.rest] }
        guard text[position] == "/" else { return [.run] }
        position += 1
        return [.boundary, .component]
    }

    /// Scans a set in brackets. A closing bracket at its beginning stands for itself, as does a dash at either end.
    ///
    /// - Returns: nil if no bracket closes the set; then the position is unchanged.
    private mutating func takeSet() -> GlobSet? {
        var set = GlobSet()
        var end = position
        if end < text.count, text[end] == "!" || text[end] == "^" {
            set.isInverted = true
            end += 1
        }
        let start = end
        while true {
            if let members = members(at: &end) {
                set.ranges += members
                continue
            }
            guard let first = character(at: &end) else { return nil }
            if first.isEnd, end - 1 > start {
                position = end
                return set
            }
            guard let range = range(from: first.scalar, at: &end) else { return nil }
            set.ranges += range
        }
    }

    /// The members of a class such as `[:digit:]`; empty for an unknown class, nil if there is no class here.
    private func members(at position: inout Int) -> [ClosedRange<Unicode.Scalar>]? {
        guard text[position...].starts(with: ["[", ":"]),
            let end = text[position...].firstIndex(of: "]"), end - position > 2, text[end - 1] == ":"
        else { return nil }
        let name = text[(position + 2)..<(end - 1)]
        position = end + 1
        return GlobSet.members(ofClass: String(String.UnicodeScalarView(name)))
    }

    /// The next character of a set, and whether it can be the closing bracket.
    private func character(at position: inout Int) -> (scalar: Unicode.Scalar, isEnd: Bool)? {
        guard position < text.count else { return nil }
        if text[position] == "\\", position + 1 < text.count {
            position += 2
            return (text[position - 1], false)
        }
        position += 1
        return (text[position - 1], text[position - 1] == "]")
    }

    /// - Returns: an empty array for a range whose ends are in the wrong order, which matches no character; nil if the
    ///   text ends.
    private func range(from first: Unicode.Scalar, at position: inout Int) -> [ClosedRange<Unicode.Scalar>]? {
        guard position + 1 < text.count, text[position] == "-", text[position + 1] != "]" else {
            return [first...first]
        }
        position += 1
        guard let last = character(at: &position) else { return nil }
        return first <= last.scalar ? [first...last.scalar] : []
    }
}
