extension String {
    /// The text with everything escaped that could steer a terminal or make one line look like another: control
    /// characters, line and paragraph separators, and the bidirectional controls of Unicode (UAX #9). A backslash is
    /// doubled, so that what is shown can be read only one way.
    public var escapedForDisplay: String {
        guard unicodeScalars.contains(where: { $0.needsEscape }) else { return self }
        var shown = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": shown += "\\n"
            case "\r": shown += "\\r"
            case "\t": shown += "\\t"
            case "\\": shown += "\\\\"
            case _ where scalar.needsEscape: shown += "\\u{\(String(hexadecimal: scalar.value))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }
}

extension Unicode.Scalar {
    fileprivate var needsEscape: Bool {
        switch value {
        case 0..<0x20, 0x5C, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
