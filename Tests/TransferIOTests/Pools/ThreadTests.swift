import Testing

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct ThreadTests {
    @Test func runsTheBodyOnAThreadOfThatName() async throws {
        let (names, continuation) = AsyncStream.makeStream(of: String.self)
        try startThread(name: "test-thread") {
            continuation.yield(threadName())
            continuation.finish()
        }
        let name = await names.first { _ in true }
        #expect(name == "test-thread")
    }

    @Test func aLongNameIsCutShort() async throws {
        let loop = LoopActor(try EventLoop(name: "a-name-of-twenty-byt"))
        let name = await loop.run { _ in threadName() }
        loop.loop.stop()
        #expect(name == "a-name-of-twent")
    }

    @Test func letsGoOfTheBodyAtTheEnd() async throws {
        let (witness, gone) = Witness.make()
        try startThread(name: "test-thread") { withExtendedLifetime(witness) {} }
        _ = consume witness
        await gone.finished()
    }
}
