import Testing

@testable import TransferCLI

@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("photo.png", 9), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("한글", 4),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("ｆｕｌｌ", 8), ("ﾊﾝ", 2), ("😀", 2), ("⌚", 2), ("❤", 1), ("❤\u{FE0F}", 2),
        ("🇫🇷", 2), ("a\u{200B}b", 2), ("\u{FEFF}a", 1), ("a\u{AD}b", 3), ("\u{1B}\n", 0), ("…", 1), ("я", 1),
        ("\u{20000}", 2), ("e" + String(repeating: "\u{301}", count: 500), 1), ("नि", 2),
    ]) func columns(_ text: String, columns: Int) {
        #expect(text.displayColumns == columns)
    }

    @Test func joinedEmojiAreNotUnderestimated() {
        #expect("👨‍👩‍👧".displayColumns == 6)
        #expect("👍🏽".displayColumns == 4)
    }

    @Test(arguments: [
        ("photo.png", 9, "photo.png"), ("photo.png", 8, "phot…png"), ("photo.png", 3, "p…g"), ("photo.png", 2, "p…"),
        ("photo.png", 1, "…"), ("photo.png", 0, ""), ("photo.png", -1, ""), ("", 0, ""), ("日本語.png", 9, "日本….png"),
        ("日本語日本語", 6, "日…語"), ("日本", 2, "…"), ("e\u{301}a\u{308}o\u{302}", 2, "e\u{301}…"),
    ]) func truncates(_ text: String, columns: Int, shown: String) {
        #expect(text.truncatedMiddle(toColumns: columns) == shown)
    }

    @Test(arguments: ["photo.png", "日本語の長い名前.txt", "👨‍👩‍👧👨‍👩‍👧.jpg", "🇫🇷🇩🇪🇯🇵", "\u{301}\u{301}abc\u{301}"])
    func truncatedFits(_ text: String) {
        for columns in -1...30 {
            #expect(text.truncatedMiddle(toColumns: columns).displayColumns <= max(0, columns))
        }
    }
}
