import Testing
import TransferClassic
import TransferModel

@Suite struct TextConversationTests {
    private static func text(_ number: UInt64, _ text: String) -> [Heard] {
        let bytes = Array(text.utf8)
        let size = UInt64(bytes.count)
        return [.begin(ClassicUpload(number: number, kind: .text, size: size))]
            + (bytes.isEmpty ? [] : [.content(bytes)]) + [.end(ClassicEnd(size: size))]
    }

    @Test func textsUpToTheNUL() {
        let heard = Listener.heard(Wire.text("Hi") + Wire.text("") + Wire.text("你好"), .text)
        #expect(heard == Self.text(1, "Hi") + Self.text(2, "") + Self.text(3, "你好"))
    }

    @Test(arguments: [1023, 1024]) func aFullBuffer(_ count: Int) {
        let text = String(repeating: "x", count: count)
        #expect(Listener.heard(Wire.text(text), .text) == Self.text(1, text))
    }

    @Test func exitEnds() {
        #expect(Listener.heard(Wire.text("exit") + Wire.text("x"), .text) == [.close])
        for other in ["exit\n", "Exit", "exi", "exits"] {
            #expect(Listener.heard(Wire.text(other), .text) == Self.text(1, other))
        }
    }

    /// The programs of this framing always send the whole buffer.
    @Test func lessThanABufferIsNoMessage() {
        var listener = Listener(.text)
        listener.hear(Wire.text("Hi").dropLast())
        #expect(listener.heard.isEmpty)
        #expect(!listener.isBetweenMessages)
        listener.hear([0])
        #expect(listener.heard == Self.text(1, "Hi"))
    }

    @Test func nothingIsAnswered() {
        let conversation = TextConversation()
        #expect(conversation.answer(to: ClassicUpload(number: 1), ClassicResult(.committed)).isEmpty)
        #expect(conversation.answer(to: ClassicFault(.malformedFrame, "x")).isEmpty)
    }
}
