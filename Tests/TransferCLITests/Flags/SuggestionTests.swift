import Testing

@testable import TransferCLI

@Suite struct SuggestionTests {
    @Test(arguments: [
        ("", "", 0), ("a", "", 1), ("", "abc", 3), ("push", "push", 0), ("psuh", "push", 1), ("pus", "push", 1),
        ("pusch", "push", 1), ("rush", "push", 1), ("kitten", "sitting", 3), ("serve", "push", 5), ("ca", "abc", 3),
    ]) func editDistance(_ first: String, _ second: String, distance: Int) {
        #expect(Suggestion.editDistance(first, second) == distance)
        #expect(Suggestion.editDistance(second, first) == distance)
    }

    @Test(arguments: [
        ("psuh", "push"), ("pus", "push"), ("server", "serve"), ("sevre", "serve"), ("hel", "help"), ("se", "serve"),
        ("PUSH", nil), ("pull", nil), ("", nil), ("completely-different", nil),
        (String(repeating: "serve", count: 10_000), nil),
    ]) func closest(_ word: String, expected: String?) {
        #expect(Suggestion.closest(to: word, among: ["serve", "push", "help"]) == expected)
    }

    @Test func shortFlagsSuggestNothing() {
        #expect(Suggestion.closest(to: "-x", among: ["--to", "--json", "--text"]) == nil)
    }
}
