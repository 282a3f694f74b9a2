import Testing

@testable import TransferCLI

@Suite struct RepeatedCommandTests {
    @Test(arguments: [
        (["transfer", "push", "a.txt", "--to", "nas.local:5288/in"], "transfer push a.txt --to nas.local:5288/in"),
        (["./transfer", "push", "it's mine", ""], "./transfer push 'it'\\''s mine' ''"),
        (["transfer", "push", "*.jpg", "$HOME", "~"], "transfer push '*.jpg' '$HOME' '~'"),
        (["transfer", "push", "海"], "transfer push '海'"),
    ])
    func aShellTakesItAsItWas(_ words: [String], _ line: String) {
        #expect(RepeatedCommand(words).line() == line)
    }

    @Test func flagsAreAdded() {
        #expect(
            RepeatedCommand(["transfer", "push", "a"]).line(adding: ["--server-key", "SHA256:x"])
                == "transfer push a --server-key SHA256:x")
        #expect(
            RepeatedCommand(["transfer", "push", "--", "-a"]).line(adding: ["--trust-new"])
                == "transfer push --trust-new -- -a")
    }

    @Test(arguments: [
        "transfer://h#code=pair_x", "https://me:secret@h/", "transfer_00000000_00000000000000000000000000000000",
        "a\nb", "a\u{1B}[2Jb", "a\u{202E}b", String(repeating: "a", count: 1000),
    ])
    func whatMustNotBeShownIsNot(_ word: String) {
        #expect(RepeatedCommand(["transfer", "push", word]).line() == nil)
    }
}
