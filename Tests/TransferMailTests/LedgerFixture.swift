import Testing
import TransferCluster
import TransferClusterModel
import TransferDatabase
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferLedger
@testable import TransferMail

/// A ledger in a new directory, or one in memory if the suite asks for it.
final class LedgerFixture: Sendable {
    let directory: TemporaryDirectory
    private let mailboxes = MemoryMailboxes()

    init() throws { directory = try TemporaryDirectory() }

    var path: String { directory.path(MailLedger.fileName) }

    static let limits = MailLimits(count: 8, bytes: 1000)
    static let digest = Digest(.xxh128, Array(0..<16))

    /// The monotonic time for the ledger's clock.
    let clock = Locked<Int64>(1_000_000)

    /// The database of a cluster, whose clock is the same.
    private let cluster = Locked<ModelDatabase?>(nil)

    func open(isDurable: Bool = true) throws(RecordsError) -> any MailRecords {
        switch EachKindOfMail.kind {
        case .database: try openDatabase(isDurable: isDurable)
        case .memory: MemoryMail(mailboxes) { [self] in clock.withLock(\.self) }
        case .cluster: ClusterMail(ModelLedger(database))
        }
    }

    private var database: ModelDatabase {
        cluster.withLock { cluster in
            if let cluster { return cluster }
            let made = ModelDatabase { [weak self] in self?.clock.withLock(\.self) ?? 0 }
            cluster = made
            return made
        }
    }

    func openDatabase(
        _ calls: DatabaseCalls = DatabaseCalls(), isDurable: Bool = true, mustExist: Bool = false
    ) throws(RecordsError) -> MailLedger {
        try MailLedger(path: path, isDurable: isDurable, mustExist: mustExist, calls: calls) { [self] in
            clock.withLock(\.self)
        }
    }

    /// Changes the file without the ledger.
    func execute(_ sql: String) throws { try Database(path: path, called: "ledger").execute(sql) }

    static func id(_ number: UInt64) -> UploadID { UploadID(high: 7, low: number) }

    static func mail(_ number: UInt64, from sender: String = "alice", size: UInt64 = 5, at moment: Int64 = 100) -> Mail
    {
        Mail(
            id: id(number), sender: sender, client: 9, name: "photos/\(number).png", kind: .picture, size: size,
            digest: digest, modified: Timestamp(seconds: -3, nanoseconds: 7), permissions: 0o640, note: [1, 2],
            path: .mail(id(number)), queued: moment)
    }
}

extension MailRecords {
    /// Queues one mail, whose content exists by default.
    @discardableResult
    func queue(
        _ mail: Mail, to recipients: [String], _ limits: MailLimits = LedgerFixture.limits, isThere: Bool = true
    ) throws(RecordsError) -> QueuedMail {
        try queue([(mail, recipients)], limits, isThere: { _ in isThere })[0]
    }

    func states(_ number: UInt64) throws(RecordsError) -> [String] {
        try deliveries(of: LedgerFixture.id(number)).map { "\($0.recipient) \($0.state)" }
    }

    func settle(
        _ ids: [UploadID], by recipient: String, as state: DeliveryState, at moment: Int64
    ) throws(RecordsError) -> SettledMail {
        try settle(ids, by: recipient, as: state, at: moment, receipts: nil)
    }

    func expire(after age: Int64, at now: Int64) throws(RecordsError) -> EndedDeliveries {
        try expire(after: age, at: now, limit: 1000)
    }
}

/// Runs each test of a suite with a database, with records in memory, and with those of a cluster: all have to give the
/// same results.
struct EachKindOfMail: SuiteTrait, TestTrait, TestScoping {
    enum Kind: CaseIterable {
        case database, memory, cluster
    }

    @TaskLocal static var kind = Kind.database

    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil, !test.traits.contains(where: { $0 is DatabaseOnly }) else { return try await function() }
        let hasServersClock = test.traits.contains { $0 is ServersClock }
        for kind in Kind.allCases where kind != .cluster || !hasServersClock {
            try await Self.$kind.withValue(kind) { try await function() }
        }
    }
}

/// Runs a test of the suite only with the database, because it reads the file or makes calls fail.
struct DatabaseOnly: TestTrait {}

extension Trait where Self == EachKindOfMail {
    static var overEachKindOfMail: EachKindOfMail { EachKindOfMail() }
}

/// Runs a test only with records whose time goes while a server has them open. The time of a cluster is the database's.
struct ServersClock: TestTrait {}

extension Trait where Self == ServersClock {
    static var serversClock: ServersClock { ServersClock() }
}

extension Trait where Self == DatabaseOnly {
    static var databaseOnly: DatabaseOnly { DatabaseOnly() }
}
