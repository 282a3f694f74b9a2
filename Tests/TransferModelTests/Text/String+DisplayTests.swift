import Testing
import TransferModel

@Suite struct StringDisplayTests {
    @Test(arguments: [
        ("", ""), ("photo 1.png", "photo 1.png"), ("日本語 😀", "日本語 😀"), ("\"quotes'", "\"quotes'"),
        ("a\\b", "a\\\\b"), ("a\nb\r\tc", "a\\nb\\r\\tc"), ("\r\n", "\\r\\n"), ("\\n", "\\\\n"),
        ("\0\u{7}\u{1B}[2J", "\\u{0}\\u{7}\\u{1b}[2J"), ("\u{7F}", "\\u{7f}"),
        // C1: CSI in one code point, and the edges.
        ("\u{9B}31m", "\\u{9b}31m"), ("\u{80}\u{9F}\u{A0}", "\\u{80}\\u{9f}\u{A0}"),
        // Bidirectional: "gnp.exe" would read "exe.png".
        ("photo\u{202E}gnp.exe", "photo\\u{202e}gnp.exe"),
        ("\u{202A}\u{202B}\u{202C}\u{202D}", "\\u{202a}\\u{202b}\\u{202c}\\u{202d}"),
        ("\u{2066}\u{2067}\u{2068}\u{2069}", "\\u{2066}\\u{2067}\\u{2068}\\u{2069}"),
        ("\u{200E}\u{200F}\u{61C}", "\\u{200e}\\u{200f}\\u{61c}"), ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        // A control that is not at the start of a character, and harmless neighbours.
        ("e\u{301}\u{202E}", "e\u{301}\\u{202e}"),
        ("a\u{2027}\u{202F}\u{3000}\u{A0}b", "a\u{2027}\u{202F}\u{3000}\u{A0}b"),
        // Invisible characters: two names would look alike.
        ("a\u{200B}b\u{2060}c\u{FEFF}d\u{AD}e", "a\\u{200b}b\\u{2060}c\\u{feff}d\\u{ad}e"),
        ("\u{3164}\u{2800}\u{115F}\u{FFA0}\u{180E}", "\\u{3164}\\u{2800}\\u{115f}\\u{ffa0}\\u{180e}"),
        ("x\u{E0041}\u{E0100}\u{34F}", "x\\u{e0041}\\u{e0100}\\u{34f}"), ("a\u{200D}b\u{200C}", "a\\u{200d}b\\u{200c}"),
        ("a\u{FE0F}\u{2065}", "a\\u{fe0f}\\u{2065}"), ("\u{200D}", "\\u{200d}"),
        // Invisible characters that an emoji or a script needs.
        ("\u{2764}\u{FE0F} 1\u{FE0F}\u{20E3}", "\u{2764}\u{FE0F} 1\u{FE0F}\u{20E3}"),
        ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"),
        ("\u{2764}\u{FE0F}\u{200D}\u{1F525}", "\u{2764}\u{FE0F}\u{200D}\u{1F525}"),
        ("\u{645}\u{6CC}\u{200C}\u{62E}", "\u{645}\u{6CC}\u{200C}\u{62E}"),
        ("\u{D28}\u{D4D}\u{200D}", "\u{D28}\u{D4D}\u{200D}"),
        ("\u{645}\u{200C}", "\u{645}\\u{200c}"), ("\u{645}\u{200C}\u{200C}\u{62E}", "\u{645}\\u{200c}\\u{200c}\u{62E}"),
    ]) func escapes(_ text: String, shown: String) {
        // Compares code points, because canonically equivalent strings are equal.
        #expect(Array(text.escapedForDisplay.unicodeScalars) == Array(shown.unicodeScalars))
    }

    @Test func escapedTextNeedsNoEscapeButForBackslashes() {
        for value in 0...UInt32(0x30FF) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let shown = String(Character(scalar)).escapedForDisplay
            #expect(shown.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
            #expect(!shown.unicodeScalars.contains { $0.properties.isDefaultIgnorableCodePoint })
        }
    }
}
