import Testing
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// A client that watches the mailbox also receives later deliveries.
@Suite struct WatchingMailboxTests {
    private let out: String
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
        out = here.path("out")
    }

    @Test func whatComesIsReceived() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("first", [1])
        var options = ReceiveOptions()
        options.watches = true
        let names = Locked(["second", "third", "fourth"])
        let received = try await Received(from: mailbox, to: out, options) { _ in
        } each: { event in
            guard case .finished = event else { return true }
            guard let name = names.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
            mailbox.deliver(name, Array(name.utf8))
            return true
        }
        #expect(received.failure?.reason == .cancelled)
        #expect(received.reports.map(\.delivery.name) == ["first", "second", "third", "fourth"])
        #expect(Set(mailbox.states) == [.delivered] && mailbox.lists.allSatisfy(\.watches))
        #expect(mailbox.lists.map(\.after).max() == 5)
    }

    /// Like the test above, but only with the state: the client may ask for the next list before or after it asks for
    /// the rest of this list.
    @Test func aListOfWhichTheRestIsAskedForGoesOn() {
        var state = ReceivePlan.State()
        for listing in [ReceivePlan.State.Listing.wanted, .asked, .done] {
            state.listing = listing
            #expect(state.wantsMore)
        }
        state.listing = .overdrawn(held: 1)
        #expect(!state.wantsMore)
    }

    /// The list goes on when a delivery arrives in the middle of it.
    @Test func whatArrivesInTheMiddleOfAListDoesNotEndIt() async throws {
        let mailbox = FakeMailbox(arrivesMeanwhile: true)
        for number in 0..<120 { mailbox.deliver("f\(number)", [UInt8(number)]) }
        var options = ReceiveOptions()
        options.watches = true
        let left = Locked(120)
        let received = try await Received(from: mailbox, to: out, options) { _ in
        } each: { event in
            guard case .finished = event else { return true }
            return left.withLock { left in
                left -= 1
                return left > 0
            }
        }
        #expect(received.failure?.reason == .cancelled && received.reports.count == 120)
        #expect(Set(received.reports.map(\.delivery.name)).count == 120)
        var state = ReceivePlan.State()
        state.listing = .wanted
        #expect(state.wantsMore)
        state.listing = .overdrawn(held: 0)
        #expect(!state.wantsMore)
    }

    /// Deliveries that arrived without a connection are listed by the next one.
    @Test func watchingOutlivesAConnection() async throws {
        let mailbox = FakeMailbox { number, _ in number == 0 ? .lost : .usual }
        mailbox.deliver("first", [1])
        var options = ReceiveOptions()
        options.watches = true
        let isSecond = Locked(false)
        let received = try await Received(from: mailbox, to: out, options) { _ in
        } each: { event in
            switch event {
            case .reconnecting: mailbox.deliver("second", [2])
            case .finished(let report) where report.delivery.name == "second":
                isSecond.withLock { $0 = true }
                return false
            default: break
            }
            return true
        }
        #expect(received.reconnects == 1 && isSecond.withLock { $0 })
        #expect(Set(mailbox.states) == [.delivered])
    }
}
