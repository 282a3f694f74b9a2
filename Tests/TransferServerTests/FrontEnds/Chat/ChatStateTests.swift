import Testing
import TransferAccess
import TransferClassic
import TransferDatabase
import TransferIO
import TransferMail
import TransferModel

import TransferPorts
@testable import TransferServer

@Suite struct ChatStateTests {
    private let chunks = BufferPool(size: 4096, count: 1)
    private let id = UploadID(high: 0, low: 1)

    private func makeState() throws -> ChatState {
        let mailroom = Mailroom(
            .failure(RecordsError(.unavailable, "There is none.")), Nobody(), MailLimits(bytes: 1), utc: { 0 })
        let listener = ClassicListener(.jsonline, on: .internet(host: "127.0.0.1", port: 1), AccessOptions())
        return ChatState(
            try #require(ChatGuests(listener, UploadScope(), peer: "here", mailroom)))
    }

    private func outcome(
        _ bytes: Int, ends: [Int] = [], isInMessage: Bool = false, isEmpty: Bool = true
    ) -> ChatWorker.Outcome {
        let chunk = AnswerChunk(room: 4096, from: chunks)
        chunk.append([UInt8](repeating: 0, count: bytes))
        var outcome = ChatWorker.Outcome()
        (outcome.hasLooked, outcome.chunk) = (true, chunk)
        outcome.ends = ends.map { (id, $0) }
        (outcome.isInMessage, outcome.isEmpty) = (isInMessage, isEmpty)
        return outcome
    }

    /// A client sends its name again and again, and it is always the same name.
    @Test func aClientHasOneName() throws {
        var state = try makeState()
        let (first, second) = (try state.introduce("bob"), try state.introduce("bob"))
        #expect(first && !second)
        #expect(throws: ClassicFault.self) { try state.introduce("alice") }
    }

    /// No mail is sent to a client without a name.
    @Test func nothingIsMadeWithoutAName() throws {
        var state = try makeState()
        state.mailCame()
        let unnamed = state.beginWork()
        _ = try state.introduce("bob")
        let undecided = state.beginWork()
        #expect(!unnamed && !undecided && !state.isWorking && state.worker == nil)
    }

    /// New mail that is announced while the rest of a message is sent is looked for after the message.
    @Test func newsInsideAMessageIsKept() throws {
        var state = try makeState()
        state.mailCame()
        _ = state.order(room: 100, isLast: false)
        state.took(outcome(100, isInMessage: true, isEmpty: false))
        _ = state.order(room: 100, isLast: false)
        #expect(state.isInMessage && !state.hasNews)
        state.mailCame()
        state.took(outcome(10, ends: [10]))
        #expect(!state.isInMessage && state.hasNews)
    }

    @Test func nothingIsToBeDoneWithoutNewsOrRoom() throws {
        var state = try makeState()
        let withoutNews = state.order(room: 100, isLast: false)
        state.mailCame()
        let (withoutRoom, atTheEnd) = (state.order(room: 0, isLast: false), state.order(room: 100, isLast: true))
        #expect(withoutNews == nil && withoutRoom == nil && atTheEnd == nil)
        let order = state.order(room: 100, isLast: false)
        #expect(order == ChatWorker.Order(received: [], room: 100, isLast: false))
        #expect(!state.hasNews)
    }

    /// There may be more mail until the mailbox is found empty.
    @Test func theNextOnesFollow() throws {
        var state = try makeState()
        state.mailCame()
        _ = state.order(room: 100, isLast: false)
        state.took(outcome(50, ends: [50], isEmpty: false))
        #expect(state.hasNews)
        _ = state.order(room: 100, isLast: false)
        state.took(outcome(0))
        let order = state.order(room: 100, isLast: false)
        #expect(order == nil)
    }

    /// A sentence inside a message would be read as a part of the message.
    @Test func sentencesWaitForTheEndOfAMessage() throws {
        var state = try makeState()
        state.mailCame()
        _ = state.order(room: 100, isLast: false)
        state.took(outcome(100, isInMessage: true, isEmpty: false))
        state.say([1, 2])
        let inside = state.takeSaid()
        #expect(inside.isEmpty && !state.isAtRest)
        // The rest of the message is sent even if the server stops.
        let order = state.order(room: 100, isLast: true)
        #expect(order == ChatWorker.Order(received: [], room: 100, isLast: true))
        state.took(outcome(10, ends: [10], isEmpty: false))
        let (behind, more) = (state.takeSaid(), state.takeSaid())
        #expect(behind == [1, 2] && more.isEmpty && state.isAtRest)
    }

    @Test func sentencesAreBounded() throws {
        var state = try makeState()
        #expect(state.takesSentences)
        state.say([UInt8](repeating: 0, count: ChatState.mostSaid))
        #expect(!state.takesSentences)
    }

    /// All bytes given to the connection count, also those of sentences.
    @Test func whatIsReceivedIsTold() throws {
        var state = try makeState()
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        state.say([1, 2, 3])
        _ = state.takeSaid()
        state.mailCame()
        _ = state.order(room: 100, isLast: false)
        #expect(!state.awaitsHeartbeat)
        state.took(outcome(60, ends: [40]))
        #expect(state.awaitsHeartbeat)
        // Until 20 of 63 bytes are left, the last byte of the message may be among them.
        let taken = start + .seconds(10)
        let early = [
            state.heard(at: start, arrived: start, waiting: 21), state.heard(at: taken, arrived: taken, waiting: 20),
        ]
        let late = state.heard(at: taken + .seconds(1), arrived: taken + .seconds(1), waiting: 20)
        #expect(early == [false, false] && late)
        let (order, next) = (state.order(room: 0, isLast: true), state.order(room: 0, isLast: true))
        #expect(order == ChatWorker.Order(received: [id], room: 0, isLast: true))
        #expect(next == nil && state.isAtRest)
    }

    /// A Unix-domain socket reports more unread bytes than were sent.
    @Test func moreThanWasSentIsNothing() throws {
        var state = try makeState()
        state.mailCame()
        _ = state.order(room: 100, isLast: false)
        state.took(outcome(60, ends: [60]))
        for second in 1...10 as ClosedRange<Int64> {
            let isNews = state.heard(
                at: MonotonicTime(nanoseconds: 1_000_000_000 * second),
                arrived: MonotonicTime(nanoseconds: 1_000_000_000 * second), waiting: .max)
            #expect(!isNews)
        }
    }

    @Test func aBellRingsOnce() {
        let bell = MailBell()
        #expect(bell.ring() && !bell.ring())
        bell.heard()
        #expect(bell.ring())
    }
}

private struct Nobody: MailPeople {
    var people: [MailPerson] { [] }

    func person(_ name: String) -> MailPerson? { nil }
}
