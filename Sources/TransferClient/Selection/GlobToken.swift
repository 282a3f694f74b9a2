/// One step of a pattern.
enum GlobToken: Sendable, Equatable {
    case character(Unicode.Scalar)
    /// One character except a slash.
    case any
    /// One of several characters, except a slash.
    case oneOf(GlobSet)
    /// Any number of characters except slashes.
    case run
    /// The beginning of a component of the path. Together with `component`, which follows it, it matches any number of
    /// directories.
    case boundary
    /// The rest of the name of a directory that these two tokens match.
    case component
    /// All that follows in the path.
    case rest
}

/// The characters between two brackets.
struct GlobSet: Sendable, Equatable {
    var ranges: [ClosedRange<Unicode.Scalar>] = []

    /// Whether the set has all characters except `ranges`.
    var isInverted = false

    func contains(_ character: Unicode.Scalar, _ ignoresCase: Bool = false) -> Bool {
        let isThere = has(character) || ignoresCase && character.otherCases.contains(where: has)
        return isThere != isInverted
    }

    private func has(_ character: Unicode.Scalar) -> Bool { ranges.contains { $0.contains(character) } }
}

extension GlobSet {
    /// The members of a class, as ctype(3) has them in the C locale; empty for an unknown class.
    static func members(ofClass name: String) -> [ClosedRange<Unicode.Scalar>] {
        switch name {
        case "alnum": ["0"..."9", "A"..."Z", "a"..."z"]
        case "alpha": ["A"..."Z", "a"..."z"]
        case "blank": ["\t"..."\t", " "..." "]
        case "cntrl": ["\0"..."\u{1f}", "\u{7f}"..."\u{7f}"]
        case "digit": ["0"..."9"]
        case "graph": ["!"..."~"]
        case "lower": ["a"..."z"]
        case "print": [" "..."~"]
        case "punct": ["!"..."/", ":"..."@", "["..."`", "{"..."~"]
        case "space": ["\t"..."\r", " "..." "]
        case "upper": ["A"..."Z"]
        case "xdigit": ["0"..."9", "A"..."F", "a"..."f"]
        default: []
        }
    }
}
