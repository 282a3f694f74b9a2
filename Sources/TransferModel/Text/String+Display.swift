extension String {
    /// The text for display. Characters are escaped that could control a terminal or make one line look like another:
    /// control characters, line and paragraph separators, the bidirectional controls of Unicode (UAX #9), and invisible
    /// characters (`Default_Ignorable_Code_Point`, UAX #44) unless an emoji or a script needs them at that place. A
    /// backslash is doubled, so that the result is unambiguous.
    public var escapedForDisplay: String {
        guard unicodeScalars.contains(where: { $0.mayNeedEscape }) else { return self }
        let scalars = Array(unicodeScalars)
        var shown = ""
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "\n": shown += "\\n"
            case "\r": shown += "\\r"
            case "\t": shown += "\\t"
            case "\\": shown += "\\\\"
            case _ where scalar.mayNeedEscape:
                let (before, after) = (index > 0 ? scalars[index - 1] : nil, scalars.dropFirst(index + 1).first)
                if scalar.isNeeded(between: before, and: after) {
                    shown.unicodeScalars.append(scalar)
                } else {
                    shown += "\\u{\(String(hexadecimal: scalar.value))}"
                }
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }
}

extension Unicode.Scalar {
    fileprivate var mayNeedEscape: Bool {
        switch value {
        case 0..<0x20, 0x5C, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        case 0x20..<0x7F: false
        // The Braille blank is invisible, but as wide as other letters.
        case 0x2800: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether an invisible character shapes its neighbours as Unicode intends: a variation selector after an emoji, a joiner between two
    /// emojis, or a joiner or non-joiner in a script that uses them.
    fileprivate func isNeeded(between before: Unicode.Scalar?, and after: Unicode.Scalar?) -> Bool {
        guard let before else { return false }
        switch value {
        case 0xFE0E, 0xFE0F: return before.properties.isEmoji
        case 0x200D where before.properties.isEmoji || before.value == 0xFE0F: return after?.properties.isEmoji ?? false
        case 0x200C, 0x200D:
            guard before.isJoined else { return false }
            return after?.isJoined ?? (before.properties.canonicalCombiningClass == .virama)
        default: return false
        }
    }

    /// Whether the character belongs to a script with joined letters: Arabic and its neighbours up to Sinhala, Myanmar,
    /// Khmer and Mongolian.
    private var isJoined: Bool {
        switch value {
        case 0x0620...0x0DFF, 0x1000...0x109F, 0x1780...0x18AF: !properties.isDefaultIgnorableCodePoint
        default: false
        }
    }
}
