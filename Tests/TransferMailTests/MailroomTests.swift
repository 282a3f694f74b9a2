import Testing
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferMail

/// Which names belong to which clients.
@Suite(.overEachKindOfMail) struct MailroomTests {
    /// Access lists that an operator changes.
    private final class Lists: MailPeople {
        let names: Locked<[String]>
        let canBeRead = Locked(true)

        init(_ names: String...) { self.names = Locked(names) }

        var people: [MailPerson] { names.withLock { $0.map { MailPerson($0) } } }

        func person(_ name: String) -> MailPerson? { people.first { $0.name.hasSameBytes(as: name) } }

        var isComplete: Bool { canBeRead.withLock(\.self) }
    }

    private let fixture: LedgerFixture

    init() throws { fixture = try LedgerFixture() }

    private func open(_ lists: Lists) throws -> Mailroom {
        Mailroom(.success(try fixture.open(isDurable: false)), lists, LedgerFixture.limits)
    }

    private func admit(_ room: Mailroom, from sender: String = "alice", to names: String...) throws {
        try room.admit(1, from: MailSender(sender), to: names)
    }

    /// A name stays taken if a list cannot be read for a moment, or if a key is revoked.
    @Test func aNameStaysThatOfWhoHadAKey() throws {
        let lists = Lists("alice", "bob")
        try admit(open(lists), to: "bob")
        lists.names.withLock { $0 = [] }
        let room = try open(lists)
        for name in ["alice", "bob"] {
            #expect(try room.takeUnproven(name) == .unknown(name))
            #expect(room.isTaken(name) && room.isKnown(name) && room.person(name) == nil)
        }
        #expect(try room.takeUnproven("carol") == nil)
        #expect(!room.isTaken("carol") && room.isKnown("carol"))
    }

    @Test func whoGetsAKeyHasTheNameFromThenOn() throws {
        let lists = Lists("alice")
        let room = try open(lists)
        #expect(try room.takeUnproven("dora") == nil)
        #expect(room.person("dora")?.isUnproven == true)
        lists.names.withLock { $0.append("dora") }
        #expect(room.person("dora")?.isUnproven == false && room.isTaken("dora"))
        #expect(room.everybody.map(\.name) == ["alice", "dora"])
        try admit(room, to: "dora")
        lists.names.withLock { $0 = ["alice"] }
        #expect(room.isTaken("dora"))
        #expect(try open(lists).takeUnproven("dora") == .unknown("dora"))
    }

    /// An unreadable line may contain any name.
    @Test func noNewNamesWhileListsCannotBeRead() throws {
        let lists = Lists()
        let room = try open(lists)
        #expect(try room.takeUnproven("phone") == nil)
        lists.canBeRead.withLock { $0 = false }
        guard case .unavailable? = try room.takeUnproven("tablet") else {
            Issue.record("a name was taken")
            return
        }
        #expect(try room.takeUnproven("phone") == nil)
    }

    /// A client that uses many names does not take them from later clients.
    @Test func namesThatNobodyUsesGiveWay() throws {
        let lists = Lists("alice")
        let room = try open(lists)
        for number in 0..<Mailroom.mostUnproven { #expect(try room.takeUnproven("n\(number)") == nil) }
        room.enter("n0", 1)
        var mail = LedgerFixture.mail(1)
        _ = try room.queue([(mail, ["n1"])]) { _ in true }
        (mail.id, mail.sender) = (LedgerFixture.id(2), "n2")
        _ = try room.queue([(mail, ["alice"])]) { _ in true }
        #expect(try room.takeUnproven("late") == nil)
        for name in ["n0", "n1", "n2", "late"] { #expect(room.isKnown(name)) }
        #expect(!room.isKnown("n3"))
        #expect(try open(lists).isKnown("late"))
    }
}
