/// One step of a pattern.
enum GlobToken: Sendable, Equatable {
    case character(Unicode.Scalar)
    /// One character that is no slash.
    case any
    /// One of several characters, none of them a slash.
    case oneOf(GlobSet)
    /// Any number of characters without a slash.
    case run
    /// Before a component of the path. Directories, any or none, take this and the next token.
    case boundary
    /// Within one of these directories.
    case component
    /// Whatever is left.
    case rest
}

/// The characters between two brackets.
struct GlobSet: Sendable, Equatable {
    var ranges: [ClosedRange<Unicode.Scalar>] = []

    /// Whether it is all characters but these.
    var isInverted = false

    func contains(_ character: Unicode.Scalar, _ ignoresCase: Bool = false) -> Bool {
        let isThere = has(character) || ignoresCase && character.otherCases.contains(where: has)
        return isThere != isInverted
    }

    private func has(_ character: Unicode.Scalar) -> Bool { ranges.contains { $0.contains(character) } }
}

extension GlobSet {
    /// As ctype(3) has them in the C locale.
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
