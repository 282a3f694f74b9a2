/// The number of terminal columns that text takes.
///
/// Terminals disagree about the width of joined emoji, skin tones and variation selectors. The larger width is used: a
/// line that is too short does no harm, but a line that wraps does.
enum DisplayWidth {
    /// The columns of a grapheme cluster.
    static func columns(of character: Character) -> Int {
        let scalars = character.unicodeScalars
        let sum = scalars.reduce(0) { $0 + columns(of: $1) }
        return scalars.contains(emojiSelector) ? max(sum, 2) : sum
    }

    /// The columns of a single code point: 0, 1 or 2. Control characters take none, because they are escaped before
    /// drawing.
    static func columns(of scalar: Unicode.Scalar) -> Int {
        guard scalar.value >= 0x7F else { return scalar.value < 0x20 ? 0 : 1 }
        if isInvisible(scalar) { return 0 }
        if regionalIndicators.contains(scalar.value) { return 1 }
        return scalar.properties.isEmojiPresentation || isWide(scalar.value) ? 2 : 1
    }

    /// Requests the emoji form of a character that is shown as text by default. The emoji form takes two columns.
    private static let emojiSelector: Unicode.Scalar = "\u{FE0F}"

    /// Regional indicators: two of them form a flag of two columns.
    private static let regionalIndicators: ClosedRange<UInt32> = 0x1F1E6...0x1F1FF

    /// Vowels and finals of decomposed Korean; they join the syllable before them.
    private static let joiningJamo: ClosedRange<UInt32> = 0x1160...0x11FF

    private static let softHyphen: Unicode.Scalar = "\u{AD}"

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .nonspacingMark, .enclosingMark: true
        case .format: scalar.properties.isDefaultIgnorableCodePoint && scalar != softHyphen
        default: joiningJamo.contains(scalar.value)
        }
    }

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= wide[0].lowerBound else { return false }
        return wide.contains { $0.contains(value) }
    }

    /// Code points whose East_Asian_Width (UAX #11) is wide or full, without emoji, which Swift knows. Ranges include
    /// unassigned code points between assigned ones, as the annex advises.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E, 0x3041...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE1F, 0xFE30...0xFE6F, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265,
        0x20000...0x3FFFD,
    ]
}
