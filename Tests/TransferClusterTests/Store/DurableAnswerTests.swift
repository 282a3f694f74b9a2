import Testing
import TransferAccess
import TransferClusterModel
import TransferModel
import TransferPorts

@testable import TransferCluster

/// A server that answers "done" without a commit of its own tells what another server has committed, which the standby may
/// not have yet. So it waits first, and does not answer if it cannot wait.
@Suite struct DurableAnswerTests {
    private let medium = ClusterMedium()
    private static let id = UploadID.random()

    private static let mail = Mail(
        id: id, sender: "alice", client: 9, name: "a.png", kind: .picture, size: 1, digest: Node.digest(of: [1]),
        modified: nil, permissions: nil, note: nil, path: .mail(id), queued: 100)

    /// What another server has done, and what a client of this server asks for afterwards.
    struct Question: CustomStringConvertible, Sendable {
        let description: String
        let before: @Sendable (Node) throws -> Void
        let ask: @Sendable (Node) throws -> Void

        init(
            _ description: String, before: @escaping @Sendable (Node) throws -> Void,
            ask: @escaping @Sendable (Node) throws -> Void
        ) {
            (self.description, self.before, self.ask) = (description, before, ask)
        }

        /// A question that repeats what another server has done.
        init(again description: String, _ ask: @escaping @Sendable (Node) throws -> Void) {
            self.init(description, before: ask, ask: ask)
        }
    }

    static let questions = [
        Question(again: "a folder that exists") { try $0.make(.folder(RelativePath("d"), replaces: false, nil)) },
        Question(again: "a link that exists") {
            try $0.make(.link(RelativePath("l"), to: [120], replaces: false, nil))
        },
        Question("a move to the same path") {
            try $0.put("a", [1])
        } ask: {
            try $0.make(.move(RelativePath("a"), to: RelativePath("a"), replaces: true))
        },
        Question("a folder that another server removes meanwhile") {
            try $0.put("d/a", [1])
        } ask: { node in
            let removal = try node.store.remover().begin(RelativePath("d"), isRecursive: true, of: nil)
            for path in ["d/a", "d"] { try node.medium.remove(RelativePath(path)) }
            #expect(try removal.step(9))
        },
        Question("uploads of a folder") {
            try $0.put("d/a", [1], id: id)
        } ask: { node in
            let query = KnownFiles.Query(try RelativePath("d"), client: nil, sender: "")
            #expect(try node.records.files(query, after: query.prefix).files.map(\.id) == [id])
        },
        Question("an acknowledged upload") {
            try $0.put("a", [1], id: id)
        } ask: { node in
            let found = try node.records.entries(for: [id])[0]
            #expect(found != nil)
        },
        Question(again: "a mail that was sent") { node in
            _ = try node.mail.queue([(mail, ["bob"])], MailLimits(count: 8, bytes: 1000), isThere: { _ in true })
        },
        Question("a mail that was delivered") {
            try $0.deliver(mail)
        } ask: { node in
            let found = try node.mail.settle([id], by: "bob", as: .delivered, at: 2, receipts: nil).ended
            #expect(found != nil)
        },
        Question("the deliveries of a mail") {
            try $0.deliver(mail)
        } ask: { node in
            let found = try node.mail.deliveries(of: id).map(\.state)
            #expect(found == [.delivered])
        },
        Question("what a sender has sent") {
            try $0.deliver(mail)
        } ask: { node in
            let found = try node.mail.sent(by: "alice", after: 0, limit: 9).map(\.state)
            #expect(found == [.delivered])
        },
        Question(again: "a key that is in the list") { node in
            try ClusterAccess(node.ledger, interval: 0).edit { (lists) throws(AccessFault) in
                try lists.change { (keys: inout AuthorizedKeys) throws(AccessFault) in }
            }
        },
    ]

    @Test(arguments: questions.indices)
    func whatIsFoundIsToldWhenTheStandbyHasIt(_ index: Int) throws {
        let question = Self.questions[index]
        try question.before(try Node(medium))
        let waiting = try Node(medium) { $0 == .awaitDurability ? .before : nil }
        #expect(throws: (any Error).self, "\(question)") { try question.ask(waiting) }
    }

    /// The standby that has become the database meanwhile may not have what the server has found.
    @Test(arguments: questions.indices)
    func whatIsFoundBeforeAFailOverIsNotTold(_ index: Int) throws {
        let question = Self.questions[index]
        try question.before(try Node(medium))
        let node = try Node(medium) { [medium] call in
            if call == .awaitDurability { medium.database.restore(medium.database.contents) }
            return nil
        }
        #expect(throws: (any Error).self, "\(question)") { try question.ask(node) }
    }

    @Test(arguments: questions.indices)
    func theAnswerComesWhenTheStandbyHasIt(_ index: Int) throws {
        let question = Self.questions[index]
        try question.before(try Node(medium))
        #expect(throws: Never.self, "\(question)") { try question.ask(try Node(medium)) }
    }
}

extension Node {
    fileprivate var ledger: any ClusterLedger { store.ledger }
    fileprivate var mail: ClusterMail { ClusterMail(store.ledger) }

    /// Makes one change, as a client asks for it.
    fileprivate func make(_ change: TreeChange) throws(Failure) {
        let changes = store.changes(for: nil)
        let planned = PlannedChange(change)
        changes.prepare([planned])
        _ = try changes.make(planned)
        try changes.commit(KnownChanges())
    }

    fileprivate func deliver(_ mail: Mail) throws {
        _ = try self.mail.queue([(mail, ["bob"])], MailLimits(count: 8, bytes: 1000), isThere: { _ in true })
        _ = try self.mail.settle([mail.id], by: "bob", as: .delivered, at: 1, receipts: nil)
    }
}
