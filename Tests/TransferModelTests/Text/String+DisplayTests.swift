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
        // Not at the start of a character, and neighbours that are harmless.
        ("e\u{301}\u{202E}", "e\u{301}\\u{202e}"),
        ("\u{200D}\u{2027}\u{202F}\u{2065}", "\u{200D}\u{2027}\u{202F}\u{2065}"),
    ]) func escapes(_ text: String, shown: String) {
        // By code points, because canonically equivalent strings are equal.
        #expect(Array(text.escapedForDisplay.unicodeScalars) == Array(shown.unicodeScalars))
    }

    @Test func escapedTextNeedsNoEscapeButForBackslashes() {
        for value in 0...UInt32(0x30FF) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let shown = String(Character(scalar)).escapedForDisplay
            #expect(shown.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
        }
    }
}
