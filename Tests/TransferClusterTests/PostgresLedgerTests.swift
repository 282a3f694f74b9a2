import Testing
import TransferCluster
import TransferModel
import TransferPorts
import TransferPostgres
import TransferSystem
import TransferTestSupport

/// What only the ledger in PostgreSQL has: round trips, and transactions that wait for each other.
@Suite(.enabled(if: PostgresServer.isInstalled, "\(PostgresServer.advice)"))
struct PostgresLedgerTests {
    // MARK: Round trips

    /// All calls of the port, in an order in which each finds the rows that it needs.
    static let calls: [(name: String, call: @Sendable (any ClusterLedger) throws -> Void)] = [
        ("replace", { try replace($0, 0..<10, 3) }),
        ("look", { _ = try $0.look(LedgerPaths("a/f", "b/c/d")) }), ("nodes", { _ = try $0.nodes([10, 11]) }),
        ("list", { _ = try $0.list(10, after: nil, limit: 5) }), ("paths", { _ = try $0.paths(of: [20, 99]) }),
        ("extents", { _ = try $0.extents(of: 20) }), ("sum", { _ = try $0.sum(below: [10]) }),
        ("files", { _ = try $0.files(after: 0, limit: 5) }), ("apply", { try $0.apply(everything) }),
        ("open", { try $0.open(EpochRow(number: 8, key: "k", server: "s", opened: 0)) }),
        ("epochs", { _ = try $0.epochs([7]) }), ("closeEpochs", { _ = try $0.closeEpochs(olderThan: .max) }),
        ("known", { _ = try $0.known([object(1)]) }), ("unused", { _ = try $0.unused(for: 0, limit: 5) }),
        ("forget", { try $0.forget([object(1)]) }),
        ("sparse", { _ = try $0.sparse(for: -1, after: .none, limit: 5) }),
        ("uses", { _ = try $0.uses(of: [object(2)]) }), ("placed", { _ = try $0.placed(after: nil, limit: 5) }),
        (
            "rewrite",
            { try $0.rewrite(ObjectRewrite(ObjectRow(object(77), size: 0, live: 0), nodes: [:], [], emptied: [:])) }
        ),
        (
            "adopt",
            {
                try $0.adopt(
                    [EpochRow(number: 9, key: "k", server: "s", opened: 0)],
                    [ObjectRow(object(1, in: 9), size: 1, live: 1)])
            }
        ),
        ("begin", { _ = try $0.begin(OpenUploadRow(id: UploadID(2), epoch: 1, reserved: 0, written: 0), limit: 9) }),
        ("upload", { _ = try $0.upload(UploadID(1)) }), ("takeOver", { _ = try $0.takeOver(UploadID(2)) }),
        ("uploads", { _ = try $0.uploads() }),
        ("entries by ID", { _ = try $0.entries([UploadID(1)]) }),
        ("entries of nodes", { _ = try $0.entries(of: [20]) }),
        ("entries in order", { _ = try $0.entries(after: 0, limit: 5) }),
        ("entries in folder", { _ = try $0.entries(in: 10, after: nil, limit: 5) }),
        ("totals", { _ = try $0.totals() }), ("use", { _ = try $0.use(of: 1, outside: [10]) }),
        ("receipts", { _ = try $0.receipts(with: 10) }), ("reserve", { _ = try $0.reserveReceipts(1) }),
        ("rotten", { _ = try $0.rotten([20]) }), ("hasRotten", { _ = try $0.hasRotten() }),
        ("allRotten", { _ = try $0.allRotten() }), ("mark", { try $0.mark(rotten: [20]) }),
        ("removeMarks", { try $0.removeMarks([20]) }),
        (
            "declare",
            { try $0.declare([UnfinishedUpload(id: UploadID(7), path: "p", begun: 1)], forgetting: [UploadID(8)]) }
        ),
        ("declared", { _ = try $0.declared() }), ("mailFacts", { _ = try $0.mailFacts([UploadID(1)], ["p"]) }),
        ("apply mail", { try $0.apply(delivery) }), ("waiting", { _ = try $0.waiting(for: "p") }),
        ("inbox", { _ = try $0.inbox(of: "p", after: 0, limit: 5, withEnded: true) }),
        ("sent", { _ = try $0.sent(by: "p", after: 0, limit: 5) }), ("openMails", { _ = try $0.openMails(from: nil) }),
        ("overdueMail", { _ = try $0.overdueMail(for: 0, limit: 5) }),
        ("forgetMail", { try $0.forgetMail(endedFor: 0) }),
        ("people", { _ = try $0.people() }), ("idlePeople", { _ = try $0.idlePeople(limit: 5) }),
        ("forget people", { try $0.forget(people: ["p"]) }),
        ("keep people", { try $0.keep([KnownPerson(name: "p", isUnproven: true)], at: 5) }),
        ("accessLists", { _ = try $0.accessLists(["l"]) }),
        ("replace lists", { try $0.replace([AccessListRow("l", [1], revision: 0)]) }),
        ("awaitDurability", { try $0.awaitDurability(of: $0.term) }),
    ]

    /// A mail with a delivery, the first ones.
    private static var delivery: MailChanges {
        var changes = MailChanges(after: MailFacts(revision: 0, lastNumber: 0, now: 0))
        let delivery = DeliveryRow(
            number: 1, id: UploadID(1), recipient: "p", state: .queued, changed: 1, since: 1)
        changes.deliveries = [1: delivery]
        return changes
    }

    /// Changes of every kind.
    private static var everything: LedgerChanges {
        var changes = LedgerChanges(making: .folder(30, "new"), .file(31, "f", in: 30, size: 3, object: object(9)))
        changes.made[32] = .file(32, "holes", size: 5)
        changes.made[32]?.form = .file(
            FileRow(size: 5, digest: sampleDigest(), content: .extents(filled: 2)))
        changes.extents[32] = [Extent(1..<3, in: object(2), from: 0)]
        changes.updated[10] = .folder(10, "moved", touch: 2)
        changes.removed = [21]
        changes.expected = [10: 1, 21: 1]
        changes.live = [object(2): 1]
        changes.sound = [20]
        changes.ended = [UploadID(1): 3]
        changes.untouched = [UploadID(1): 0]
        return changes.with(ObjectRow(object(9), size: 3, live: 3))
            .with(
                [EntryRow(1, of: 31, receipt: 10)],
                SignedBatch(number: 10, time: 1, count: 1, signature: [1], sender: "s"))
    }

    private static func replace(_ ledger: any ClusterLedger, _ range: Range<UInt64>, _ serial: UInt64) throws {
        let part = PartRow(RecordedPart(range, digests: []), [Extent(range, in: object(serial), from: 0)])
        try ledger.replace(
            range, by: part, [ObjectRow(object(serial), size: 99, live: UInt64(range.count))],
            in: OpenUploadRow(id: UploadID(1), epoch: 3, reserved: 0, written: 0), epoch: sampleEpoch)
    }

    /// Rows that the tests begin with.
    private static func prepare(_ ledger: any ClusterLedger) throws {
        try ledger.openSample()
        try ledger.apply(
            LedgerChanges(
                making: .folder(10, "a"), .file(20, "f", in: 10, size: 1, object: object(2)),
                .file(21, "g", size: 1, object: object(2))
            ).with(ObjectRow(object(2), size: 2, live: 2)))
        _ = try ledger.begin(OpenUploadRow(id: UploadID(1), epoch: 3, reserved: 0, written: 0), limit: 9)
    }

    @Test("Each call takes one round trip")
    func roundTrips() throws {
        let pool = try preparedPool()
        let ledger = PostgresLedger(pool)
        try Self.prepare(ledger)
        for (name, call) in Self.calls {
            let before = pool.counters.roundTrips.value
            try call(ledger)
            #expect(pool.counters.roundTrips.value - before == 1, "\(name)")
        }
    }

    @Test("Cutting a part takes three more round trips")
    func cutting() throws {
        let pool = try preparedPool()
        let ledger = PostgresLedger(pool)
        try Self.prepare(ledger)
        try Self.replace(ledger, 0..<10, 3)
        let before = pool.counters.roundTrips.value
        try Self.replace(ledger, 5..<15, 4)
        // The attempt in one pipeline and its end, then reading and changing.
        #expect(pool.counters.roundTrips.value - before == 4)
        #expect(try ledger.upload(UploadID(1))?.parts.map(\.part.range) == [0..<5, 5..<15])
    }

    // MARK: Two transactions

    /// Two calls, of which the second begins when the first has made all changes and has not committed.
    struct Contest: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let first: @Sendable (inout LedgerChanges) -> Void
        let second: @Sendable (any ClusterLedger) throws -> Void
        /// What the second call throws.
        let loss: LedgerError.Reason?
        /// Whether the second call waits for the first one.
        let waits: Bool

        init(
            _ name: String, _ first: @escaping @Sendable (inout LedgerChanges) -> Void,
            loss: LedgerError.Reason? = .conflict, waits: Bool = true,
            second: @escaping @Sendable (any ClusterLedger) throws -> Void
        ) {
            (testDescription, self.first, self.second, self.loss, self.waits) = (name, first, second, loss, waits)
        }
    }

    /// Throws an error that no contest expects, unless a condition holds.
    private static func holds(_ condition: Bool) throws {
        if !condition { throw LedgerError(.refused, "The second call has another result.") }
    }

    private static let exchange = LedgerChanges(
        updating: NodeRow.file(20, "g", size: 1, object: object(2), touch: 2),
        .file(21, "f", in: 10, size: 1, object: object(2), touch: 2))

    static let contests: [Contest] = [
        Contest("same name", { $0.made[30] = .folder(30, "x") }) {
            try $0.apply(LedgerChanges(making: .folder(31, "x")))
        },
        Contest(
            "name taken by a move",
            {
                $0.updated[21] = .file(21, "x", touch: 2); $0.expected[21] = 1
            }
        ) {
            try $0.apply(LedgerChanges(making: .folder(31, "x")))
        },
        Contest("same number", { $0.made[30] = .folder(30, "x") }) {
            try $0.apply(LedgerChanges(making: .folder(30, "y")))
        },
        Contest(
            "same expected node",
            {
                $0.updated[10] = .folder(10, "a", touch: 2); $0.expected[10] = 1
            }
        ) {
            try $0.apply(LedgerChanges(making: .folder(31, "x", in: 10)))
        },
        Contest(
            "both changes of one node",
            {
                $0.updated[21] = .file(21, "x", touch: 2); $0.expected[21] = 1
            }
        ) {
            try $0.apply(LedgerChanges(updating: .file(21, "y", size: 1, object: object(2), touch: 2)))
        },
        Contest(
            "folder removed while an entry is made",
            {
                $0.removed = [11]; $0.expected[11] = 1
            }
        ) {
            try $0.apply(LedgerChanges(making: .file(30, "x", in: 11)))
        },
        Contest(
            "entry made while the folder is removed",
            {
                $0.made[30] = .file(30, "x", in: 11); $0.expected[11] = 1
            }
        ) {
            try $0.apply(LedgerChanges(removing: 11))
        },
        Contest(
            "two entries of one folder",
            {
                $0.made[30] = .file(30, "x", in: 11); $0.expected[11] = 1
            }, loss: nil, waits: false
        ) {
            try $0.apply(LedgerChanges(making: .file(31, "y", in: 11)))
        },
        Contest(
            "both exchange names",
            {
                $0.updated = exchange.updated; $0.expected = exchange.expected
            }
        ) {
            try $0.apply(exchange)
        },
        Contest(
            "same entry ID",
            {
                $0.entries = [EntryRow(5, of: 21)]; $0.expected[21] = 1
            }
        ) {
            try $0.apply(LedgerChanges().with([EntryRow(5, of: 20)]))
        },
        Contest("object whose last bytes go", { $0.live = [object(2): -2] }) { ledger in
            var changes = LedgerChanges(making: .file(31, "x", size: 1, object: object(2)))
            changes.live = [object(2): 1]
            try ledger.apply(changes)
        },
        Contest("object that two share", { $0.live = [object(2): 1] }, loss: nil) { ledger in
            var changes = LedgerChanges(making: .file(31, "x", size: 1, object: object(2)))
            changes.live = [object(2): 1]
            try ledger.apply(changes)
        },
        Contest("upload that two end", { $0.ended = [UploadID(1): 3] }) { ledger in
            var changes = LedgerChanges(making: .folder(31, "x"))
            changes.ended = [UploadID(1): 3]
            try ledger.apply(changes)
        },
        Contest("upload that ends while a part arrives", { $0.ended = [UploadID(1): 3] }) {
            try replace($0, 0..<10, 3)
        },
        Contest("upload that ends while it is taken over", { $0.ended = [UploadID(1): 3] }, loss: nil) {
            try holds($0.takeOver(UploadID(1)) == nil)
        },
        Contest(
            "mark of rot while the file is removed",
            {
                $0.removed = [21]; $0.expected[21] = 1
            }, loss: nil
        ) {
            try $0.mark(rotten: [21])
            try holds(!$0.hasRotten())
        },
        Contest("epoch closed while a commit needs it", { $0.epochs = [sampleEpoch] }, loss: nil) {
            try holds($0.closeEpochs(olderThan: -1).map(\.number) == [sampleEpoch])
        },
    ]

    @Test("The second of two transactions sees the first one", arguments: contests)
    func contest(_ contest: Contest) async throws {
        try await TestThread.run { try Self.hold(contest) }
    }

    private static func hold(_ contest: Contest) throws {
        let pool = try preparedPool("contest")
        let ledger = PostgresLedger(pool)
        try prepare(ledger)
        let batch = SignedBatch(number: 1000, time: 1, count: 1, signature: [1], sender: "s")
        try ledger.apply(
            LedgerChanges(making: .folder(11, "b")).with([EntryRow(99, of: 20, receipt: 1000)], batch))
        var changes = LedgerChanges()
        contest.first(&changes)
        let made = changes.with([EntryRow(98, of: 20, receipt: 1000)], batch)

        // The row that the first call changes last is locked, so that the call waits with all other changes made.
        let lock = PostgresStatement("SELECT first FROM receipts WHERE first = 1000 FOR UPDATE")
        let (first, second) = (Call { try ledger.apply(made) }, Call { try contest.second(ledger) })
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.run(lock)
            first.begin()
            try wait(transaction, for: [first])
            second.begin()
            if contest.waits { try wait(transaction, for: [first, second]) } else { _ = second.end() }
        }
        _ = try outcome.committed()
        #expect(first.end() == nil)
        #expect(second.end() == contest.loss)
    }

    /// A call on a thread of its own.
    private final class Call: Sendable {
        private let body: @Sendable () throws -> Void
        private let thread = Locked<TestThread?>(nil)
        private let result = Locked<LedgerError.Reason?>(nil)
        private let isOver = Locked(false)

        init(_ body: @escaping @Sendable () throws -> Void) { self.body = body }

        func begin() {
            thread.withLock {
                $0 = TestThread { [self] in
                    result.withLock { $0 = reason(body) }
                    isOver.withLock { $0 = true }
                }
            }
        }

        /// Whether the call has returned or thrown.
        var hasEnded: Bool { isOver.withLock { $0 } }

        /// Waits for the end of the call.
        ///
        /// - Returns: the reason of the error; nil if the call has succeeded.
        func end() -> LedgerError.Reason? {
            let running = thread.withLock { thread in
                defer { thread = nil }
                return thread
            }
            running?.join()
            return result.withLock { $0 }
        }
    }

    /// Waits until calls of the pool wait for locks, or one of them has ended. The server waits between the attempts.
    private static func wait(_ transaction: PostgresTransaction, for calls: [Call]) throws(PostgresError) {
        let waiting = PostgresStatement(
            """
            SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid <> pg_backend_pid()
                AND application_name = current_setting('application_name')
            """)
        // The view of activities is kept until the end of the transaction unless it is cleared.
        let pause = PostgresStatement("SELECT pg_sleep(0.005) IS NULL, pg_stat_clear_snapshot() IS NULL")
        while !calls.contains(where: \.hasEnded) {
            let answers = try transaction.run([pause, waiting])
            guard let found = answers.last, try found.integer(0, 0) < Int64(calls.count) else { return }
        }
    }

    @Test("A commit that has waited for an epoch to be closed is refused")
    func closing() async throws {
        try await TestThread.run {
            let pool = try preparedPool("contest")
            let ledger = PostgresLedger(pool)
            try Self.prepare(ledger)
            let call = Call {
                try ledger.apply(LedgerChanges(making: .folder(30, "x")).with(ObjectRow(object(9), size: 1, live: 0)))
            }
            let outcome = pool.transaction { (transaction) throws(PostgresError) in
                _ = try transaction.run(PostgresStatement("UPDATE epochs SET state = 2"))
                call.begin()
                try Self.wait(transaction, for: [call])
            }
            _ = try outcome.committed()
            #expect(call.end() == .epochClosed)
            #expect(try ledger.nodes([30]) == [nil])
        }
    }

    @Test("Uploads that begin at once do not exceed the limit")
    func limit() async throws {
        try await TestThread.run {
            let pool = try preparedPool("contest")
            let ledger = PostgresLedger(pool)
            let call = Call {
                _ = try ledger.begin(OpenUploadRow(id: UploadID(1), epoch: 1, reserved: 0, written: 0), limit: 1)
            }
            let outcome = pool.transaction { (transaction) throws(PostgresError) in
                _ = try transaction.run([
                    PostgresStatement("SELECT FROM numbers WHERE name = 'uploads' FOR UPDATE"),
                    PostgresStatement("INSERT INTO uploads VALUES (1, 2, 3, 4, 5)"),
                ])
                call.begin()
                try Self.wait(transaction, for: [call])
            }
            _ = try outcome.committed()
            #expect(call.end() == .full)
        }
    }

    @Test("A commit whose wait for a standby is cancelled is unknown")
    func unknown() async throws {
        try await TestThread.run {
            let server = try PostgresServer()
            let pool = try PostgresPool(server.configuration())
            _ = try PostgresLedger.schema.prepare(pool, cluster: .any, within: 60_000_000_000)
            let ledger = PostgresLedger(pool)
            server.end("INT")
            try server.start(["synchronous_standby_names=ghost"])
            let cancel = "SELECT count(pg_cancel_backend(pid)) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            let calls: [(call: Call, reason: LedgerError.Reason)] = [
                (Call { try ledger.apply(LedgerChanges(making: .folder(10, "a"))) }, .unknown),
                (Call { try ledger.awaitDurability(of: ledger.term) }, .unavailable),
            ]
            for (call, reason) in calls {
                call.begin()
                try server.wait(until: cancel)
                #expect(call.end() == reason)
            }
            // The commit is visible all the same.
            #expect(try ledger.nodes([10]) == [.folder(10, "a")])
        }
    }

    // MARK: Damage

    /// What another program has written, and a call that reads it.
    static let damages: [(sql: String, call: @Sendable (any ClusterLedger) throws -> Void)] = [
        ("UPDATE nodes SET form = 9", { _ = try $0.nodes([10]) }),
        ("UPDATE nodes SET name = '\\xff' WHERE number = 10", { _ = try $0.list(NodeRow.top, after: nil, limit: 9) }),
        ("UPDATE nodes SET digest = '\\x0101'", { _ = try $0.files(after: 0, limit: 9) }),
        ("UPDATE nodes SET digest = ''", { _ = try $0.nodes([20]) }),
        ("UPDATE nodes SET size = -1", { _ = try $0.nodes([20]) }),
        ("UPDATE nodes SET object = NULL", { _ = try $0.nodes([20]) }),
        ("UPDATE nodes SET nanoseconds = -1", { _ = try $0.nodes([20]) }),
        ("UPDATE nodes SET nanoseconds = 1000000000", { _ = try $0.nodes([20]) }),
        ("UPDATE nodes SET permissions = 512", { _ = try $0.nodes([20]) }),
        ("UPDATE nodes SET extra = '\\x05'", { _ = try $0.nodes([20]) }),
        ("UPDATE nodes SET folder = -5 WHERE number = 10", { _ = try $0.nodes([10]) }),
        ("INSERT INTO extents VALUES (20, 5, 5, 1, 0)", { _ = try $0.extents(of: 20) }),
        ("UPDATE epochs SET state = 7", { _ = try $0.epochs([sampleEpoch]) }),
        ("UPDATE uploads SET reached = 1, function = 9", { _ = try $0.uploads() }),
        ("UPDATE uploads SET epoch = -1", { _ = try $0.upload(UploadID(1)) }),
        ("UPDATE entries SET state = 7", { _ = try $0.totals() }),
        ("UPDATE entries SET kind = 99", { _ = try $0.entries(after: 0, limit: 9) }),
        ("UPDATE receipts SET version = 999", { _ = try $0.receipts(with: 10) }),
        ("UPDATE parts SET starts = '{}'", { _ = try $0.upload(UploadID(1)) }),
        ("UPDATE parts SET starts = '{NULL}'", { _ = try $0.upload(UploadID(1)) }),
        ("UPDATE parts SET upper = lower", { _ = try $0.upload(UploadID(1)) }),
        ("UPDATE parts SET uppers = '{9000}'", { _ = try $0.upload(UploadID(1)) }),
        ("DELETE FROM numbers", { _ = try $0.reserveReceipts(1) }),
    ]

    @Test("Rows of a wrong form give an error", arguments: damages.indices)
    func damage(_ index: Int) throws {
        let pool = try preparedPool()
        let ledger = PostgresLedger(pool)
        try Self.prepare(ledger)
        try Self.replace(ledger, 0..<10, 3)
        try ledger.apply(
            LedgerChanges().with(
                [EntryRow(1, of: 20, receipt: 10)],
                SignedBatch(number: 10, time: 1, count: 1, signature: [1], sender: "s")))
        try pool.change(Self.damages[index].sql)
        #expect(reason { try Self.damages[index].call(ledger) } == .damaged, "\(Self.damages[index].sql)")
    }

    @Test("Folders that contain each other end no call")
    func circle() throws {
        let pool = try preparedPool()
        let ledger = PostgresLedger(pool)
        try ledger.apply(LedgerChanges(making: .folder(10, "a"), .folder(11, "b", in: 10)))
        try pool.change("UPDATE nodes SET folder = 11 WHERE number = 10")
        #expect(try ledger.paths(of: [10, 11]) == [nil, nil])
        #expect(try ledger.sum(below: [10]) == (0, 0))
    }

    static let reasons: [(PostgresError, LedgerError.Reason)] = [
        (PostgresError(.busy, "x", sqlState: "40P01"), .unavailable), (PostgresError(.unavailable, "x"), .unavailable),
        (PostgresError(.readOnly, "x", sqlState: "25006"), .readOnly),
        (PostgresError(.full, "x", sqlState: "53100"), .full), (PostgresError(.noRights, "x"), .refused),
        (PostgresError(.newerSchema, "x"), .refused), (PostgresError(.foreignCluster, "x"), .refused),
        (PostgresError(.bug, "x", sqlState: "42P01"), .refused), (PostgresError(.protocolViolation, "x"), .damaged),
        (PostgresError(.constraint("nodes_name"), "x", sqlState: "23505"), .conflict),
        (PostgresError(.constraint("objects_live"), "x", sqlState: "23514"), .damaged),
        (PostgresError(.bug, "x", sqlState: "22012"), .conflict),
    ]

    @Test("Errors of the database have a meaning for the ledger", arguments: reasons.indices)
    func errors(_ index: Int) throws {
        #expect(LedgerError(Self.reasons[index].0).reason == Self.reasons[index].1)
    }

    @Test("A closed pool is not available")
    func closed() throws {
        let pool = try preparedPool()
        let ledger = PostgresLedger(pool)
        pool.close()
        #expect(reason { _ = try ledger.uploads() } == .unavailable)
        #expect(reason { try ledger.apply(LedgerChanges(making: .folder(10, "a"))) } == .unavailable)
    }
}
