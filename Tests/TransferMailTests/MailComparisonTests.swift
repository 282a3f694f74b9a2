import Testing
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

/// A database, records in memory and those of a cluster give equal results, whatever calls are made.
@Suite struct MailComparisonTests {
    /// All kinds of records, and the values for random calls.
    private final class Kinds {
        private static let people = ["alice", "bob", "\u{E9}", "e\u{301}"]
        private static let ids = (1...6 as ClosedRange<UInt64>).map { LedgerFixture.id($0) }
        private static let limits = MailLimits(count: 12, bytes: 90)

        private let fixture: LedgerFixture
        private var kinds: [any MailRecords] = []
        private var random: SplitMix64
        private var moment: Int64 = 1000

        init(seed: UInt64) throws {
            (fixture, random) = (try LedgerFixture(), SplitMix64(seed: seed))
            try open()
        }

        private func open() throws {
            kinds = try EachKindOfMail.Kind.allCases.map { kind in
                try EachKindOfMail.$kind.withValue(kind) { try fixture.open(isDurable: false) }
            }
        }

        private func expectSame<T: Equatable>(_ what: String, _ body: (any MailRecords) throws -> T) throws {
            let answers = try kinds.map(body)
            for answer in answers.dropFirst() { try #require(answers[0] == answer, "\(what)") }
        }

        /// Makes one random call to all kinds of records.
        func step() throws {
            moment += 1
            switch Int.random(in: 0..<16, using: &random) {
            case 0..<6: try queue()
            case 6..<9: try settle()
            case 9: try fetch()
            case 10: try expire()
            case 11: try forget()
            case 12: try meet()
            case 13: try rot()
            case 14: fixture.clock.withLock { $0 += Int64.random(in: 0...50, using: &random) }
            default: try restart()
            }
        }

        private func pick<T>(_ all: [T]) -> T { all[Int.random(in: all.indices, using: &random)] }

        private func some<T>(_ all: [T]) -> [T] { (0...Int.random(in: 0...2, using: &random)).map { _ in pick(all) } }

        private func mail() -> Mail {
            let number = UInt64.random(in: 1...UInt64(Self.ids.count), using: &random)
            var mail = LedgerFixture.mail(number, from: pick(Self.people), at: moment)
            mail.size = pick([5, 5, 5, 20])
            if Int.random(in: 0..<8, using: &random) == 0 { mail.digest = Digest(.xxh128, Array(1..<17)) }
            mail.client = pick([nil, 8, 9])
            mail.isUnproven = Bool.random(using: &random)
            return mail
        }

        private func queue() throws {
            let mails = (0...Int.random(in: 0...1, using: &random)).map { _ in
                (mail: mail(), recipients: some(Self.people))
            }
            try expectSame("queue") { records in
                try records.queue(mails, Self.limits) { !($0.string.utf8.last?.isMultiple(of: 5) ?? false) }
            }
        }

        private func settle() throws {
            let (ids, recipient) = (some(Self.ids), pick(Self.people))
            let (state, receipt) = (pick([DeliveryState.delivered, .declined]), pick([nil, [7], [8]] as [[UInt8]?]))
            try expectSame("settle") { records in
                try records.settle(ids, by: recipient, as: state, at: moment) { found in
                    found.map { _ in receipt ?? [] }
                }
            }
        }

        private func fetch() throws {
            let recipient = pick(Self.people)
            try expectSame("fetched") { records in
                try records.fetched(try records.inbox(of: recipient, after: 0, limit: 3), at: moment)
            }
        }

        private func expire() throws {
            let age = Int64.random(in: -1...100, using: &random)
            try expectSame("expire") { records in
                let ended = try records.expire(after: age, at: moment)
                return EndedDeliveries(inOrder: ended)
            }
        }

        private func forget() throws {
            let age = Int64.random(in: -1...60, using: &random)
            for records in kinds { try records.forget(endedBefore: age) }
            let name = pick(Self.people)
            for records in kinds { try records.forget(people: [name]) }
        }

        private func meet() throws {
            let person = KnownPerson(
                name: pick(Self.people), sealingKey: pick([nil, [1]]), isUnproven: Bool.random(using: &random))
            for records in kinds { try records.keep([person], at: moment) }
        }

        private func rot() throws {
            let id = pick(Self.ids)
            for records in kinds { try records.noteRotten(id) }
        }

        private func restart() throws {
            for records in kinds { records.close() }
            try open()
        }

        /// Compares all results of queries.
        func compare() throws {
            try expectSame("people") { try $0.people() }
            try expectSame("idle people") { try $0.idlePeople(limit: 2) }
            try expectSame("newest number") { try $0.newestNumber() }
            try expectSame("open paths") { try $0.openPaths() }
            for id in Self.ids { try expectSame("deliveries") { try $0.deliveries(of: id) } }
            for client: UInt64 in 8...9 {
                try expectSame("open") { [try $0.open(from: client)].map { [UInt64($0), $1] } }
            }
            let after = UInt64.random(in: 0...10, using: &random)
            for name in Self.people + [nil] as [String?] {
                try expectSame("waiting") { [$0.waiting(for: name)].map { [UInt64($0), $1] } }
                guard let name else { continue }
                for isUnproven in [false, true] {
                    let sender = MailSender(name, isUnproven: isUnproven)
                    try expectSame("refusal") { $0.refusal(20, from: sender, to: "bob", Self.limits) }
                }
                try expectSame("sent") { try $0.sent(by: name, after: after, limit: 4) }
                try expectSame("some") { try $0.deliveries(of: Self.ids, to: name) }
                for withEnded in [false, true] {
                    try expectSame("inbox") { try $0.inbox(of: name, after: after, limit: 4, withEnded: withEnded) }
                }
            }
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>) func sayTheSame(seed: UInt64) throws {
        let both = try Kinds(seed: seed)
        for _ in 0..<80 {
            try both.step()
            try both.compare()
        }
    }
}

extension EndedDeliveries {
    /// Sorts by numbers and IDs, because the order in which deliveries end is not defined.
    fileprivate init(inOrder other: EndedDeliveries) {
        self.init()
        deliveries = other.deliveries.sorted { $0.number < $1.number }
        freed = other.freed.sorted { $0.id.low < $1.id.low }
    }
}
