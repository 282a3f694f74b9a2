import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// Versions of the tables, and databases that are not this cluster's.
@Suite(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
struct PostgresSchemaTests {
    private static let time: Int64 = 300_000_000_000

    private static let steps = [
        PostgresSchema.Step(1, minimumReader: 1, ["CREATE TABLE a (id int8)", "CREATE INDEX ON a (id)"]),
        PostgresSchema.Step(2, minimumReader: 1, ["ALTER TABLE a ADD COLUMN more int8"]),
        PostgresSchema.Step(3, minimumReader: 3, ["ALTER TABLE a DROP COLUMN more", "INSERT INTO a VALUES (3)"]),
    ]

    private static func schema(_ version: Int) -> PostgresSchema { PostgresSchema(Array(steps.prefix(version))) }

    private let server: PostgresServer

    init() throws {
        server = try PostgresServer.shared.get()
    }

    /// A pool whose schema does not exist yet.
    private func emptyPool() throws -> PostgresPool {
        let configuration = try server.configuration()
        try server.run("DROP SCHEMA \(configuration.schema)")
        return try PostgresPool(configuration)
    }

    @Test func anEmptyDatabaseGetsAllSteps() throws {
        let pool = try emptyPool()
        defer { pool.close() }
        let made = try Self.schema(3).prepare(pool, cluster: .any, within: Self.time)
        #expect(made.version == 3 && made.minimumReader == 3)
        #expect(try pool.number("SELECT id FROM a") == 3)
        #expect(try Self.schema(3).prepare(pool, cluster: .known(made.cluster), within: Self.time) == made)
        #expect(try Self.schema(3).prepare(pool, cluster: .any, within: Self.time) == made)
    }

    @Test func stepsAreTakenOneAfterTheOther() throws {
        let pool = try emptyPool()
        defer { pool.close() }
        let first = try Self.schema(1).prepare(pool, cluster: .any, within: Self.time)
        let second = try Self.schema(2).prepare(pool, cluster: .any, within: Self.time)
        #expect((first.version, second.version) == (1, 2) && first.cluster == second.cluster)
        // The older program may go on.
        #expect(try Self.schema(1).prepare(pool, cluster: .any, within: Self.time).version == 2)
        _ = try Self.schema(3).prepare(pool, cluster: .any, within: Self.time)
        let error = #expect(throws: PostgresError.self) {
            try Self.schema(2).prepare(pool, cluster: .any, within: Self.time)
        }
        #expect(error?.reason == .newerSchema && error?.message.contains("Install the newer program") == true)
    }

    @Test func aStepThatFailsLeavesTheVersionBefore() throws {
        let pool = try emptyPool()
        defer { pool.close() }
        let broken = PostgresSchema([
            Self.steps[0], .init(2, minimumReader: 2, ["CREATE TABLE b (id int8)", "CREATE TABLE a (id int8)"]),
        ])
        let error = #expect(throws: PostgresError.self) { try broken.prepare(pool, cluster: .any, within: Self.time) }
        #expect(error?.sqlState == "42P07")
        #expect(try pool.number("SELECT version FROM transfer_schema") == 1)
        #expect(
            try pool.number(
                "SELECT count(*) FROM pg_tables WHERE tablename = 'b' AND schemaname = $1",
                [.text(pool.configuration.schema)]) == 0)
    }

    @Test func aForeignClusterIsRefused() throws {
        let pool = try emptyPool()
        defer { pool.close() }
        let id = PostgresClusterID()
        let schema = Self.schema(1)
        let empty = #expect(throws: PostgresError.self) {
            try schema.prepare(pool, cluster: .known(id), within: Self.time)
        }
        #expect(empty?.reason == .foreignCluster && empty?.message.contains("is empty") == true)
        #expect(try schema.prepare(pool, cluster: .restored(id), within: Self.time).cluster == id)
        for cluster in [PostgresSchema.Cluster.known(PostgresClusterID()), .restored(PostgresClusterID())] {
            let error = #expect(throws: PostgresError.self) {
                try schema.prepare(pool, cluster: cluster, within: Self.time)
            }
            #expect(error?.reason == .foreignCluster && error?.message.contains(id.description) == true)
        }
    }

    @Test func programsThatUpgradeAtOnceTakeEachStepOnce() throws {
        let configuration = try emptyPool().configuration
        let found = Locked([PostgresSchema.Contents]())
        let threads = (0..<6).map { number in
            TestThread {
                guard let pool = try? PostgresPool(configuration) else { return }
                defer { pool.close() }
                let schema = Self.schema(3)
                do {
                    let contents = try schema.prepare(pool, cluster: .any, within: Self.time)
                    found.withLock { $0.append(contents) }
                } catch {
                    Issue.record(error)
                }
            }
        }
        for thread in threads { thread.join() }
        let contents = found.withLock { $0 }
        #expect(contents.count == 6 && Set(contents.map(\.cluster)).count == 1)
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        #expect(try pool.number("SELECT count(*) FROM a") == 1)
    }

    @Test func missingRightsAreNamed() throws {
        try server.run("CREATE ROLE visitor LOGIN")
        var configuration = PostgresConfiguration(try PostgresAddress(server.uri(user: "visitor")))
        configuration.schema = "visited"
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        for isThere in [false, true] {
            if isThere { try server.run("CREATE SCHEMA visited") }
            let error = #expect(throws: PostgresError.self) {
                try Self.schema(1).prepare(pool, cluster: .any, within: Self.time)
            }
            #expect(error?.reason == .noRights && error?.message.contains("CREATE SCHEMA visited") == true)
        }
        // The owner of the schema needs no right to create others.
        try server.run("ALTER SCHEMA visited OWNER TO visitor")
        #expect(try Self.schema(1).prepare(pool, cluster: .any, within: Self.time).version == 1)
    }

    @Test(arguments: [
        "DELETE FROM transfer_schema", "UPDATE transfer_schema SET cluster = '\\x00'",
        "ALTER TABLE transfer_schema ALTER version TYPE text", "ALTER TABLE transfer_schema DROP COLUMN cluster",
    ])
    func aTableThatOthersChangedIsAnError(_ change: String) throws {
        let pool = try emptyPool()
        defer { pool.close() }
        _ = try Self.schema(1).prepare(pool, cluster: .any, within: Self.time)
        try pool.change(change)
        #expect(throws: PostgresError.self) { try Self.schema(1).prepare(pool, cluster: .any, within: Self.time) }
    }

    @Test func idsHaveSixteenBytes() {
        #expect(PostgresClusterID([]) == nil && PostgresClusterID(Array(repeating: 1, count: 17)) == nil)
        #expect(PostgresClusterID(Array(repeating: 10, count: 16))?.description == String(repeating: "0a", count: 16))
        #expect(PostgresClusterID() != PostgresClusterID())
    }
}
