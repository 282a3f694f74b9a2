import Glibc
import TransferDatabase
import TransferLedger
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport
import Testing

@testable import TransferMail

@Suite(.overEachKindOfMail) struct LedgerTests {
    private let fixture: LedgerFixture

    init() throws { fixture = try LedgerFixture() }

    /// Compares all fields after another server has opened the ledger.
    @Test func whatIsQueuedIsThereForEverybodyItIsFor() throws {
        let mail = LedgerFixture.mail(1)
        do {
            let ledger = try fixture.open()
            #expect(
                try ledger.queue(mail, to: ["bob", "carol"])
                    == .queued(fresh: ["bob", "carol"], isKept: true, freed: nil))
            ledger.close()
        }
        let ledger = try fixture.open()
        for name in ["bob", "carol"] {
            let found = try ledger.inbox(of: name, after: 0, limit: 10)
            #expect(found.map(\.mail) == [mail])
            #expect(found.map(\.state) == [.queued] && found.map(\.recipient) == [name])
            #expect(ledger.waiting(for: name) == (1, 5))
        }
        #expect(try ledger.inbox(of: "alice", after: 0, limit: 10) == [])
        #expect(try ledger.sent(by: "alice", after: 0, limit: 10).map(\.recipient) == ["bob", "carol"])
        #expect(try ledger.sent(by: "bob", after: 0, limit: 10) == [])
        #expect(try ledger.open(from: 9) == (1, mail.cost))
        #expect(try ledger.openPaths() == [mail.path])
    }

    /// Another server may have opened the ledger by then: deferred work neither reads nor writes it.
    @Test func whatIsClosedIsNotOpenedAgain() throws {
        let ledger = try fixture.open()
        ledger.close()
        #expect(throws: RecordsError.self) { try ledger.inbox(of: "bob", after: 0, limit: 10) }
        #expect(throws: RecordsError.self) { try ledger.queue(LedgerFixture.mail(1), to: ["bob"]) }
        #expect(try fixture.open().inbox(of: "bob", after: 0, limit: 10) == [])
    }

    /// The stored sum equals the sum that another server counts: each upload counts once, as long as a recipient can
    /// still have it.
    @Test func whatAClientHasWaitingIsKeptAsASum() throws {
        var ledger = try fixture.open()
        let mails = (1...3 as ClosedRange<UInt64>).map { LedgerFixture.mail($0) }
        for mail in mails { try ledger.queue(mail, to: ["bob", "carol"]) }
        func expect(_ count: UInt64) throws {
            #expect(try ledger.open(from: 9) == (Int(count), mails[0].cost * count))
            ledger.close()
            ledger = try fixture.open()
            #expect(try ledger.open(from: 9) == (Int(count), mails[0].cost * count))
            #expect(try ledger.open(from: 8) == (0, 0))
        }
        try expect(3)
        _ = try ledger.settle([mails[0].id], by: "bob", as: .delivered, at: 1)
        try expect(3)
        _ = try ledger.settle([mails[0].id], by: "carol", as: .declined, at: 1)
        try expect(2)
        // The mail is received although it was declined, and then sent again.
        _ = try ledger.settle([mails[0].id], by: "carol", as: .delivered, at: 1)
        try ledger.queue(mails[0], to: ["dora"])
        try expect(3)
        // The mail's content is lost: a repeated upload replaces it.
        try ledger.noteRotten(mails[1].id)
        try ledger.queue(LedgerFixture.mail(2), to: ["bob"])
        try expect(3)
        for name in ["bob", "carol"] { _ = try ledger.settle([mails[1].id], by: name, as: .declined, at: 1) }
        try expect(2)
    }

    /// Mail is forgotten in steps.
    @Test func manyMailsAreForgotten() throws {
        let ledger = try fixture.open()
        for number in 1...1100 as ClosedRange<UInt64> {
            let mail = LedgerFixture.mail(number)
            try ledger.queue(mail, to: ["bob"])
            _ = try ledger.settle([mail.id], by: "bob", as: .delivered, at: 1)
        }
        try ledger.queue(LedgerFixture.mail(2000), to: ["bob"])
        try ledger.forget(endedBefore: .min)
        #expect(try ledger.sent(by: "alice", after: 0, limit: 2000).count == 1)
    }

    /// `é` as one scalar and as two scalars names two people.
    @Test func namesAreBytes() throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["\u{E9}"])
        #expect(try ledger.inbox(of: "e\u{301}", after: 0, limit: 10) == [])
        #expect(try ledger.inbox(of: "\u{E9}", after: 0, limit: 10).count == 1)
        #expect(ledger.waiting(for: "e\u{301}").count == 0)
        #expect(
            try ledger.queue(LedgerFixture.mail(1), to: ["e\u{301}"])
                == .queued(fresh: ["e\u{301}"], isKept: false, freed: nil))
    }

    /// The next server reads all names of people and uploads.
    @Test func oddNamesComeBack() throws {
        let mails = OddNames.paths.indices.map { number in
            var mail = LedgerFixture.mail(UInt64(number), from: OddNames.paths[number])
            mail.name = OddNames.paths[number]
            return mail
        }
        do {
            let ledger = try fixture.open()
            for mail in mails { try ledger.queue(mail, to: [mail.name]) }
            ledger.close()
        }
        let ledger = try fixture.open()
        #expect(try ledger.openPaths() == Set(mails.map(\.path)))
        for mail in mails {
            let found = try ledger.inbox(of: mail.name, after: 0, limit: 10)
            #expect(found.map(\.mail) == [mail] && found.map(\.recipient) == [mail.name])
            #expect(found.first.map { $0.mail.name.hasSameBytes(as: mail.name) } ?? false)
            #expect(found.first.map { $0.mail.sender.hasSameBytes(as: mail.name) } ?? false)
        }
    }

    @Test func aRepeatedUploadIsDeliveredOnce() throws {
        let ledger = try fixture.open()
        let first = LedgerFixture.mail(1)
        try ledger.queue(first, to: ["bob"])
        let again = LedgerFixture.mail(1)
        #expect(first.path != again.path)
        #expect(try ledger.queue(again, to: ["bob"]) == .queued(fresh: [], isKept: false, freed: nil))
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 10).map(\.mail.path) == [first.path])
        _ = try ledger.settle([first.id], by: "bob", as: .delivered, at: 200)
        #expect(try ledger.queue(again, to: ["bob"]) == .queued(fresh: [], isKept: false, freed: nil))
        #expect(try ledger.states(1) == ["bob delivered"])
        #expect(ledger.waiting() == (0, 0))
    }

    /// A recipient that is added later gets the content that is already stored.
    @Test func anotherRecipientIsAdded() throws {
        let ledger = try fixture.open()
        let first = LedgerFixture.mail(1)
        try ledger.queue(first, to: ["bob"])
        #expect(
            try ledger.queue(LedgerFixture.mail(1), to: ["carol"])
                == .queued(fresh: ["carol"], isKept: false, freed: nil))
        for name in ["bob", "carol"] {
            #expect(try ledger.inbox(of: name, after: 0, limit: 10).map(\.mail.path) == [first.path])
        }
        #expect(try ledger.settle([first.id], by: "bob", as: .delivered, at: 1).ended?.freed == [])
        let ended = try #require(try ledger.settle([first.id], by: "carol", as: .declined, at: 2).ended)
        #expect(ended.freed == [first])
        let late = LedgerFixture.mail(1)
        #expect(try ledger.queue(late, to: ["dave"]) == .queued(fresh: ["dave"], isKept: true, freed: first))
        #expect(try ledger.inbox(of: "dave", after: 0, limit: 10).map(\.mail.path) == [late.path])
    }

    /// A recipient may have fetched the mail on one machine before declining it on another, or before it expired.
    @Test func whatSomebodyHasIsDelivered() throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .declined, at: 1)
        let ended = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 2).ended
        #expect(ended?.deliveries.map(\.state) == [.delivered] && ended?.freed == [])
        #expect(try ledger.states(1) == ["bob delivered"])
        #expect(ledger.waiting() == (0, 0))
    }

    @Test func whatTheDiskHasLostComesAgain() throws {
        let ledger = try fixture.open()
        let lost = LedgerFixture.mail(1)
        try ledger.queue(lost, to: ["bob"])
        let again = LedgerFixture.mail(1)
        #expect(
            try ledger.queue(again, to: ["bob"], isThere: false) == .queued(fresh: [], isKept: true, freed: lost))
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 10).map(\.mail.path) == [again.path])
        #expect(ledger.waiting(for: "bob") == (1, 5))
    }

    @Test(arguments: [DeliveryState.declined, .expired]) func whatHasEndedUnreadComesAgain(_ state: DeliveryState)
        throws
    {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        let number = try #require(try ledger.inbox(of: "bob", after: 0, limit: 1).first?.number)
        if state == .declined {
            _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .declined, at: 2)
        } else {
            #expect(try ledger.expire(after: -1, at: 200).freed.count == 1)
        }
        #expect(try ledger.states(1) == ["bob \(state)"])
        #expect(ledger.waiting() == (0, 0))
        let again = LedgerFixture.mail(1)
        guard case .queued(fresh: ["bob"], isKept: true, _) = try ledger.queue(again, to: ["bob"]) else {
            Issue.record("it was not queued anew")
            return
        }
        let found = try ledger.inbox(of: "bob", after: number, limit: 1)
        #expect(found.map(\.mail.path) == [again.path])
    }

    @Test func bothEndsOfAFetchAreWrittenDownOnce() throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        let waiting = try ledger.inbox(of: "bob", after: 0, limit: 10)
        var forgotten = try #require(waiting.first)
        forgotten.number += 1
        #expect(try ledger.fetched(waiting + [forgotten], at: 3) == waiting)
        // A fetch is reported once, also to senders that have not received the report yet.
        #expect(try ledger.fetched(waiting, at: 4) == [])
        #expect(try ledger.states(1) == ["bob fetched"])
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 10).count == 1)
        let receipt: [UInt8] = [1, 2, 3]
        let ended = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 5) { _ in [receipt] }.ended
        #expect(ended?.deliveries.map(\.receipt) == [receipt])
        #expect(ended?.freed.count == 1)
        #expect(
            try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 6).ended?.deliveries == [])
        #expect(
            try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .declined, at: 6).ended?.deliveries == [])
        #expect(try ledger.sent(by: "alice", after: 0, limit: 1).map(\.receipt) == [receipt])
        #expect(try ledger.sent(by: "alice", after: 0, limit: 1).map(\.changed) == [5])
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 10) == [])
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 10, withEnded: true).count == 1)
    }

    /// A receipt that was lost in transit is accepted later.
    @Test func aLateReceiptIsKept() throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 5)
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 6) { _ in [[9]] }
        #expect(try ledger.sent(by: "alice", after: 0, limit: 1).map(\.receipt) == [[9]])
    }

    /// An upload that a client names twice ends once.
    @Test(arguments: [DeliveryState.delivered, .declined]) func anUploadThatIsNamedTwice(_ state: DeliveryState) throws
    {
        let ledger = try fixture.open()
        for number in 1...2 as ClosedRange<UInt64> { try ledger.queue(LedgerFixture.mail(number), to: ["bob"]) }
        let id = LedgerFixture.id(1)
        let ended = try #require(try ledger.settle([id, id], by: "bob", as: state, at: 1).ended)
        #expect(ended.deliveries.map(\.mail.id) == [id] && ended.freed.map(\.id) == [id])
        #expect(ledger.waiting(for: "bob") == (1, 5))
        #expect(try ledger.open(from: 9).count == 1)
    }

    @Test func aRecipientThatIsNamedTwice() throws {
        let ledger = try fixture.open()
        let queued = try ledger.queue(LedgerFixture.mail(1), to: ["bob", "bob"])
        #expect(queued == .queued(fresh: ["bob"], isKept: true, freed: nil))
        #expect(try ledger.states(1) == ["bob queued"])
    }

    /// A request settles all named deliveries or none, also if one belongs to another recipient.
    @Test func nobodySettlesForAnother() throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        try ledger.queue(LedgerFixture.mail(2), to: ["carol"])
        #expect(
            try ledger.settle(
                [LedgerFixture.id(1), LedgerFixture.id(2)], by: "bob", as: .delivered, at: 1)
                == .notForYou)
        #expect(try ledger.states(1) == ["bob queued"] && ledger.states(2) == ["carol queued"])
    }

    @Test(arguments: [nil, [], [[1], [2]]] as [[[UInt8]]?])
    func whatIsSignedOtherwiseEndsNothing(_ receipts: [[UInt8]]?) throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        let settled = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 1) { found in
            #expect(found.map(\.mail.id) == [LedgerFixture.id(1)])
            return receipts
        }
        #expect(settled == .badSignature)
        #expect(try ledger.states(1) == ["bob queued"])
    }

    @Test func pagesGoOnWhereTheyEnded() throws {
        let ledger = try fixture.open()
        for number in 1...5 {
            try ledger.queue(LedgerFixture.mail(UInt64(number), size: 1), to: ["bob"], MailLimits(bytes: 100))
        }
        var (after, found) = (UInt64(0), [UploadID]())
        while let last = try ledger.inbox(of: "bob", after: after, limit: 2).last {
            found += try ledger.inbox(of: "bob", after: after, limit: 2).map(\.mail.id)
            after = last.number
        }
        #expect(found == (1...5).map { LedgerFixture.id($0) })
        #expect(try ledger.newestNumber() == after)
    }

    @Test func forgottenOnlyWhenAllHasEndedForLong() throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1), to: ["bob", "carol"])
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 0)
        fixture.clock.withLock { $0 += 1000 }
        try ledger.forget(endedBefore: 10)
        #expect(try ledger.states(1).count == 2)
        _ = try ledger.settle([LedgerFixture.id(1)], by: "carol", as: .delivered, at: 0)
        fixture.clock.withLock { $0 += 100 }
        try ledger.forget(endedBefore: 100)
        #expect(try ledger.states(1).count == 2)
        try ledger.forget(endedBefore: 99)
        #expect(try ledger.states(1) == [])
    }
}

// MARK: What cannot be

extension LedgerTests {
    /// A row that a later version may have written does not hide the rows behind it.
    @Test(.databaseOnly) func rowsThatCannotBeAreLeftOut() throws {
        let ledger = try fixture.open()
        for number in 1...5 {
            try ledger.queue(LedgerFixture.mail(UInt64(number), size: 1), to: ["bob"], MailLimits(bytes: 100))
        }
        try fixture.execute("UPDATE mails SET algorithm = 99 WHERE number IN (2, 3, 4)")
        let first = try ledger.inbox(of: "bob", after: 0, limit: 2)
        #expect(first.map(\.mail.id) == [LedgerFixture.id(1)])
        #expect(try ledger.inbox(of: "bob", after: 1, limit: 2).map(\.mail.id) == [LedgerFixture.id(5)])
        #expect(try ledger.sent(by: "alice", after: 1, limit: 2).map(\.mail.id) == [LedgerFixture.id(5)])
        #expect(try ledger.inbox(of: "bob", after: 5, limit: 2) == [])
    }

    /// Once a recipient has the content or waits for it, the ID refers to that content.
    @Test(arguments: [true, false]) func anIDStandsForOneContent(_ isSettled: Bool) throws {
        let ledger = try fixture.open()
        let first = LedgerFixture.mail(1)
        try ledger.queue(first, to: ["bob"])
        if isSettled {
            _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 1)
        }
        var other = LedgerFixture.mail(1)
        other.digest = Digest(.xxh128, Array(1..<17))
        #expect(try ledger.queue(other, to: ["bob", "carol"]) == .refused(.otherContent))
        #expect(try ledger.queue(LedgerFixture.mail(1, size: 6), to: ["carol"]) == .refused(.otherContent))
        #expect(try ledger.sent(by: "alice", after: 0, limit: 9).map(\.mail.digest) == [LedgerFixture.digest])
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .declined, at: 1)
        guard !isSettled else { return }
        #expect(
            try ledger.queue(other, to: ["bob"]) == .queued(fresh: ["bob"], isKept: true, freed: first))
    }
}

// MARK: Limits

extension LedgerTests {
    /// All senders without keys share half of a mailbox. Names without keys cost nothing, so one client could use any
    /// number of them.
    @Test func sendersWithoutKeysShareAHalf() throws {
        let ledger = try fixture.open()
        let limits = MailLimits(count: 100, bytes: 100)
        func queue(_ number: UInt64, _ sender: String, isUnproven: Bool, size: UInt64) throws -> QueuedMail {
            var mail = LedgerFixture.mail(number, from: sender, size: size)
            mail.isUnproven = isUnproven
            return try ledger.queue(mail, to: ["bob"], limits)
        }
        _ = try queue(1, "x", isUnproven: true, size: 30)
        _ = try queue(2, "y", isUnproven: true, size: 20)
        #expect(try queue(3, "z", isUnproven: true, size: 1) == .refused(.fullOfUnproven("bob", limits)))
        let again = try fixture.open()
        #expect(again.refusal(1, from: MailSender("z", isUnproven: true), to: "bob", limits) != nil)
        #expect(again.refusal(50, from: MailSender("x"), to: "bob", limits) == nil)
        _ = try queue(4, "alice", isUnproven: false, size: 50)
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 9).map(\.mail.isUnproven) == [true, true, false])
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 1)
        guard case .queued = try queue(5, "z", isUnproven: true, size: 30) else {
            Issue.record("what was freed is not free")
            return
        }
    }

    /// A client with a new name sends lost content again: the waiting mail then counts for the new name.
    @Test func aMailIsCountedForTheNameOfItsSender() throws {
        let ledger = try fixture.open()
        let limits = MailLimits(count: 8, bytes: 100)
        try ledger.queue(LedgerFixture.mail(1, size: 50), to: ["bob"], limits)
        try ledger.noteRotten(LedgerFixture.id(1))
        try ledger.queue(LedgerFixture.mail(1, from: "alicia", size: 50), to: ["bob"], limits)
        #expect(ledger.refusal(50, from: MailSender("alice"), to: "bob", limits) == nil)
        #expect(ledger.refusal(1, from: MailSender("alicia"), to: "bob", limits) == .fullOfYours("bob", limits))
        // Undamaged mail still counts for the name under which it was sent.
        try ledger.queue(LedgerFixture.mail(1, size: 50), to: ["carol"], limits)
        #expect(ledger.refusal(50, from: MailSender("alice"), to: "carol", limits) == nil)
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 1)
        #expect(ledger.refusal(50, from: MailSender("alicia"), to: "bob", limits) == nil)
        #expect(ledger.waiting(for: "bob") == (0, 0))
    }

    @Test func aFullMailboxTakesNothingMore() throws {
        let ledger = try fixture.open()
        let limits = MailLimits(count: 4, bytes: 100)
        #expect(
            try ledger.queue(LedgerFixture.mail(1, size: 50), to: ["bob"], limits) != .refused(.full("bob", limits)))
        #expect(
            try ledger.queue(LedgerFixture.mail(2, size: 1), to: ["bob"], limits)
                == .refused(.fullOfYours("bob", limits)))
        #expect(
            try ledger.queue(LedgerFixture.mail(3, from: "carol", size: 51), to: ["bob"], limits)
                == .refused(.full("bob", limits)))
        // If one of several recipients cannot get a mail, none of them gets it.
        #expect(
            try ledger.queue(LedgerFixture.mail(4, size: 10), to: ["dave", "bob"], limits)
                == .refused(.fullOfYours("bob", limits)))
        #expect(try ledger.states(4) == [])
        #expect(ledger.waiting(for: "dave") == (0, 0))
        _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 1)
        #expect(
            try ledger.queue(LedgerFixture.mail(2, size: 1), to: ["bob"], limits)
                == .queued(fresh: ["bob"], isKept: true, freed: nil))
    }

    @Test func deliveriesAreCountedToo() throws {
        let ledger = try fixture.open()
        let limits = MailLimits(count: 4, bytes: 1000)
        for number in 1...2 { try ledger.queue(LedgerFixture.mail(UInt64(number)), to: ["bob"], limits) }
        #expect(try ledger.queue(LedgerFixture.mail(3), to: ["bob"], limits) == .refused(.fullOfYours("bob", limits)))
        for number in 4...5 { try ledger.queue(LedgerFixture.mail(UInt64(number), from: "carol"), to: ["bob"], limits) }
        #expect(
            try ledger.queue(LedgerFixture.mail(6, from: "dave"), to: ["bob"], limits) == .refused(.full("bob", limits))
        )
    }
}

// MARK: Faults

extension LedgerTests {
    /// Makes calls of one kind fail while it is on.
    private final class Fault: Sendable {
        private let state = Locked((isOn: false, kind: DatabaseCalls.Call.commit))

        func set(_ isOn: Bool, _ kind: DatabaseCalls.Call = .commit) { state.withLock { $0 = (isOn, kind) } }

        var calls: DatabaseCalls {
            DatabaseCalls(failure: { call in self.state.withLock { $0.isOn && $0.kind == call ? 10 : 0 } })
        }
    }

    @Test(.databaseOnly, arguments: [DatabaseCalls.Call.commit, .step]) func aFailedTransactionChangesNothing(
        _ call: DatabaseCalls.Call
    ) throws {
        let fault = Fault()
        let ledger = try fixture.openDatabase(fault.calls)
        try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        fault.set(true, call)
        #expect(throws: RecordsError.self) { try ledger.queue(LedgerFixture.mail(2), to: ["bob"]) }
        #expect(throws: RecordsError.self) {
            _ = try ledger.settle([LedgerFixture.id(1)], by: "bob", as: .delivered, at: 1)
        }
        fault.set(false)
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 10).map(\.mail.id) == [LedgerFixture.id(1)])
        #expect(ledger.waiting(for: "bob") == (1, 5))
        try ledger.queue(LedgerFixture.mail(2), to: ["bob"])
        #expect(ledger.waiting(for: "bob") == (2, 10))
    }

    /// A damaged ledger is never replaced, because waiting mail was promised to its recipients.
    @Test(.databaseOnly) func aDamagedLedgerIsLeftAsItIs() throws {
        do {
            let ledger = try fixture.open()
            try ledger.queue(LedgerFixture.mail(1), to: ["bob"])
        }
        let content = [UInt8](repeating: 0x5A, count: 8192)
        write(content)
        #expect(throws: RecordsError.self) { _ = try fixture.open() }
        #expect(read() == content)
    }

    private func write(_ content: [UInt8]) {
        let file = fopen(fixture.path, "w")
        fwrite(content, 1, content.count, file)
        fclose(file)
    }

    private func read() -> [UInt8] {
        let file = fopen(fixture.path, "r")
        defer { fclose(file) }
        var content = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&content, 1, content.count, file)
        return Array(content.prefix(count))
    }
}
