import CLinux
import Glibc
import Testing
import TransferSystem

@testable import TransferIO

@Suite struct PeerEndTests {
    private func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        try system("socketpair") { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) }
        return (ends[0], ends[1])
    }

    /// The end is behind bytes that were not read.
    @Test(arguments: [true, false]) func isSeenBehindWhatIsUnread(_ closes: Bool) throws {
        let (mine, other) = try pair()
        let end = PeerEnd(mine)
        #expect(!end.hasCome)
        #expect(write(other, "x", 1) == 1)
        #expect(!end.hasCome)
        if closes { close(other) } else { shutdown(other, Int32(SHUT_WR)) }
        #expect(end.hasCome)
        end.close()
        #expect(end.hasCome)
        if !closes { close(other) }
    }

    @Test func whatIsClosedHereIsOver() throws {
        let (mine, other) = try pair()
        let end = PeerEnd(mine)
        end.close()
        end.close()
        #expect(end.hasCome)
        var byte: UInt8 = 0
        #expect(read(other, &byte, 1) == 0)
        close(other)
    }
}
