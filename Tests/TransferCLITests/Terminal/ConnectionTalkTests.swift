import Testing

@testable import TransferCLI

@Suite struct ConnectionTalkTests {
    @Test func saysWhetherThereWasAConnection() {
        var talk = ConnectionTalk()
        #expect(
            talk.line("Connection refused", after: 0.5) == "not connected: Connection refused; trying again at once")
        talk.connected()
        #expect(talk.line("Connection reset", after: 0) == "connection lost: Connection reset; trying again at once")
    }

    /// A reason is either a sentence or the text of a system error.
    @Test(arguments: [
        ("Nothing was heard.", "Nothing was heard"), ("e\u{301}.", "e\u{301}"), ("a", "a"), ("", ""), (".", ""),
    ])
    func aSentenceLosesItsFullStop(_ sentence: String, _ clause: String) {
        #expect(Array(sentence.asClause.utf8) == Array(clause.utf8))
    }
}
