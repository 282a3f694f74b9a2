import Testing
import TransferSystem

@testable import TransferServer

@Suite struct ChatNamesTests {
    private final class Calls: Sendable {
        let connections = Locked([Int]())
        var all: [Int] { connections.withLock(\.self) }
    }

    @Test func theNewestHasTheName() {
        let (names, displaced) = (ChatNames(), Calls())
        for number in 1...3 {
            names.enter("bob", number) { displaced.connections.withLock { $0.append(number) } }
        }
        #expect(displaced.all == [1, 2])
        // The end of an older connection removes no name of a newer one.
        names.leave("bob", 2)
        names.enter("bob", 4) {}
        #expect(displaced.all == [1, 2, 3])
        names.leave("bob", 4)
        names.enter("bob", 5) {}
        #expect(displaced.all == [1, 2, 3])
    }

    /// Names are compared byte by byte.
    @Test func namesThatLookTheSameAreTwo() {
        let (names, displaced) = (ChatNames(), Calls())
        names.enter("e\u{301}", 1) { displaced.connections.withLock { $0.append(1) } }
        names.enter("\u{e9}", 2) {}
        #expect(displaced.all == [])
    }

    @Test func whatDoesNotFitIsToldOnce() {
        let names = ChatNames()
        #expect(!names.isUnfit(7))
        #expect(names.noteUnfit(7) && !names.noteUnfit(7) && names.isUnfit(7))
        for number in 100..<UInt64(100 + ChatNames.mostUnfit) { _ = names.noteUnfit(number) }
        #expect(names.noteUnfit(7))
    }

    @Test(arguments: [
        "", ".", "..", "a/b", "a\\b", "a\nb", "\u{1B}[2J", "\u{202E}x", "a\u{7F}", "transfer", "Transfer",
        " bob", "bob ", "bob\u{200B}", "b\u{AD}ob", "b\u{A0}ob", "b\u{FEFF}ob", "bob\u{E0062}", "bob\u{3000}",
        "\u{E000}",
        String(repeating: "a", count: 256),
    ])
    func namesThatNobodyCanHave(_ name: String) {
        #expect(ChatGuests.fault(of: name, server: "transfer") != nil)
    }

    @Test(arguments: [
        "a", "Transferer", "a b", "小明", "John's iPhone 4", "192.168.0.7", "a.b", String(repeating: "a", count: 255),
    ])
    func namesOfClients(_ name: String) {
        #expect(ChatGuests.fault(of: name, server: "transfer") == nil)
    }
}
