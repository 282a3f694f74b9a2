/// Names that file systems accept and that a careless format changes. Tests of formats write and read all of them.
package enum OddNames {
    /// The longest name, in bytes, that Linux file systems accept (NAME_MAX).
    package static let longest = String(repeating: "n", count: 255)

    /// Names of one component. Two of them are equal Swift strings, but name two different files.
    package static let components =
        plain + lines + escapes + scripts + [longest, String(repeating: "\u{E9}", count: 127) + "n"]

    private static let plain = [
        "a", " ", " leading", "trailing ", "two  spaces", "-rf", "~", "...", ".hidden", ".transferx", ".transfer-part",
        "transfer", "trash", "mail", "null", "0",
    ]

    private static let lines = [
        "line\nfeed", "\n", "\nfirst", "last\n", "\r", "carriage\r\nreturn", "tab\tstop", "a\u{B}b", "a\u{C}b",
        "a\u{85}b", "a\u{2028}b",
    ]

    private static let escapes = [
        "\"quoted\" 'name'", "\"", "'", "back\\slash", "\\", "\\n", "\\u0041", "%0A", "%2f", "#comment", "!not", "*",
        "[a]",
        "{a}", "a=b", "a,b", "a;b", "a:b", "a|b", "a -> b", "a => b", "\u{1}", "\u{1B}[2J", "\u{7F}", "$HOME", "`id`",
    ]

    private static let scripts = [
        "\u{E9}", "e\u{301}", "\u{301}b", "\u{5199}\u{771F}", "\u{1F468}\u{200D}\u{1F469}", "\u{FEFF}bom",
        "\u{202E}gpj",
        "a\u{200B}b", "\u{D7FF}\u{E000}", "\u{FFFD}", "\u{10FFFF}",
    ]

    /// Paths of one component and of several, with the deepest and the longest that clients can name.
    package static let paths =
        components + components.map { "folder/\($0)" } + components.map { "\($0)/file" }
        + [
            [String](repeating: "d", count: 128).joined(separator: "/"),
            [String](repeating: longest, count: 16).joined(separator: "/"),
        ]
}
