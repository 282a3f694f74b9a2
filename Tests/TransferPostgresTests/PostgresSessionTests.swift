import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// The examination of servers, the settings of sessions, and refused connections.
@Suite(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
struct PostgresSessionTests {
    private let server: PostgresServer

    init() throws {
        server = try PostgresServer.shared.get()
    }

    /// The error of one attempt to connect.
    private func refusal(_ uri: String) throws -> PostgresError {
        let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(uri)))
        defer { pool.close() }
        return try #require(throws: PostgresError.self) { try pool.examine() }
    }

    // MARK: Settings

    @Test func settingsArePinnedAgainstThoseOfTheRole() throws {
        let role = "pinned"
        try server.run("CREATE ROLE \(role) LOGIN")
        for setting in [
            "TimeZone = 'Asia/Tokyo'", "standard_conforming_strings = off", "client_min_messages = error",
            "synchronous_commit = off", "search_path = pg_catalog", "statement_timeout = 600000",
            "idle_session_timeout = 1000",
        ] {
            try server.run("ALTER ROLE \(role) SET \(setting)")
        }
        var configuration = PostgresConfiguration(try PostgresAddress(server.uri(user: role)))
        (configuration.schema, configuration.lockTimeout, configuration.statementTimeout) = ("a\"b", 1234, 5678)
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        let expected = [
            "TimeZone": "UTC", "standard_conforming_strings": "on", "client_min_messages": "warning",
            "synchronous_commit": "on", "search_path": "\"a\"\"b\"", "statement_timeout": "5678ms",
            "lock_timeout": "1234ms", "idle_in_transaction_session_timeout": "1min", "idle_session_timeout": "0",
            "application_name": "transfer", "client_encoding": "UTF8",
        ]
        for (name, value) in expected {
            let found = try pool.read { (transaction) throws(PostgresError) in
                try transaction.run(PostgresStatement("SELECT current_setting($1)", [.text(name)])).text(0, 0)
            }
            #expect(found == value, "\(name)")
        }
        let facts = try pool.examine()
        #expect(
            facts.synchronousCommit == "off" && facts.version >= 130_000 && !facts.isInRecovery && !facts.isReadOnly)
        #expect(Set(pool.takeRemarks()) == [.noSynchronousStandby, .synchronousCommitRaised])
    }

    @Test func remarksAreReportedOnce() throws {
        let pool = try server.pool()
        defer { pool.close() }
        _ = try pool.examine()
        #expect(pool.takeRemarks() == [.noSynchronousStandby])
        try server.run("SELECT pg_terminate_backend($1)", [.integer(pool.number("SELECT pg_backend_pid()"))].map(short))
        _ = try pool.number("SELECT 1::int8")
        #expect(pool.takeRemarks() == [])
        #expect(PostgresRemark.noSynchronousStandby.message.contains("synchronous_standby_names"))
    }

    private func short(_ value: PostgresValue) -> PostgresValue {
        if case .integer(let number) = value { .shortInteger(Int32(clamping: number)) } else { value }
    }

    @Test func remoteApplyIsKept() throws {
        let pool = try server.pool("&options=-csynchronous_commit%3Dremote_apply")
        defer { pool.close() }
        #expect(try pool.examine().synchronousCommit == "remote_apply")
        let found = try pool.read { (transaction) throws(PostgresError) in
            try transaction.run(PostgresStatement("SELECT current_setting('synchronous_commit')")).text(0, 0)
        }
        #expect(found == "remote_apply")
    }

    @Test func aServerWithoutSyncIsRefused() throws {
        let server = try PostgresServer(["fsync=off"])
        let error = try refusal(server.uri())
        #expect(error.reason == .unfitServer && error.message.contains("Set fsync = on"))
    }

    @Test func tornPagesAreARemark() throws {
        let server = try PostgresServer(["full_page_writes=off"])
        let pool = try server.pool()
        defer { pool.close() }
        #expect(try !pool.examine().repairsPages)
        #expect(pool.takeRemarks().contains(.fullPageWritesOff))
    }

    // MARK: TLS

    /// libpq brings its own OpenSSL, beside the one that is linked into this program.
    @Test func theServerIsVerifiedByTLS() async throws {
        let folder = try TemporaryDirectory()
        let authority = try CertificateAuthority(at: folder.path("authority.pem"))
        try authority.issue("IP:127.0.0.1", to: folder.path("server.pem"), key: folder.path("server.key"))
        let stranger = try CertificateAuthority(at: folder.path("stranger.pem"))
        try await whereThePortIsFree {
            let (number, port) = try Loopback.listen()
            close(number)
            let server = try PostgresServer(
                ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key", "listen_addresses=127.0.0.1"]
                    + ["port=\(port)"],
                copying: ["server.pem", "server.key"].map { folder.path($0) })
            let uri = "postgres://transfer@127.0.0.1:\(port)/postgres?sslmode=verify-full&sslrootcert="
            let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(uri + authority.path)))
            defer { pool.close() }
            let version = try pool.read { (transaction) throws(PostgresError) in
                try transaction.run(
                    PostgresStatement("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                ).text(0, 0)
            }
            #expect(version.hasPrefix("TLSv1."))
            let error = try refusal(uri + stranger.path + "&connect_timeout=600")
            #expect(error.reason == .unavailable && error.message.contains("SSL error"), "\(error)")
            withExtendedLifetime(server) {}
        }
    }

    // MARK: Refusals

    @Test func aWrongPasswordIsRefusedAndNotShown() throws {
        let server = try PostgresServer()
        try server.run("CREATE ROLE locked LOGIN PASSWORD 'right'")
        let rules = server.data + "/pg_hba.conf"
        let file = open(rules, O_WRONLY | O_TRUNC)
        try writeAll(Array("local all locked scram-sha-256\nlocal all all trust\n".utf8), to: file)
        close(file)
        try server.run("SELECT pg_reload_conf()")
        let pool = try PostgresPool(
            PostgresConfiguration(try PostgresAddress(server.uri("postgres", user: "locked:wrongsecret"))))
        defer { pool.close() }
        // The server takes the rules a moment later.
        try server.wait(until: "SELECT count(*) = 2 FROM pg_hba_file_rules")
        var error: PostgresError?
        while error == nil { error = #expect(throws: PostgresError.self) { try pool.examine() } }
        #expect(error?.reason == .credentials && error?.sqlState == "28P01")
        #expect(error?.message.contains("wrongsecret") == false && error?.message.contains("pg_hba.conf") == true)
        let missing = try refusal(server.uri("postgres", user: "locked", "&passfile=/nowhere"))
        #expect(missing.reason == .credentials && missing.message.contains("wants a password"))
        let right = try PostgresPool(PostgresConfiguration(try PostgresAddress(server.uri(user: "locked:right"))))
        defer { right.close() }
        #expect(try right.number("SELECT 1::int8") == 1)
    }

    @Test func aMissingDatabaseOrRoleIsNamed() throws {
        let database = try refusal(server.uri("missing"))
        #expect(database.reason == .noDatabase && database.message.contains("missing"))
        #expect(try refusal(server.uri(user: "absent")).reason == .credentials)
    }

    @Test func aMissingRightIsNamed() throws {
        try server.run("CREATE ROLE powerless LOGIN")
        let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(server.uri(user: "powerless"))))
        defer { pool.close() }
        let error = #expect(throws: PostgresError.self) { try pool.number("SELECT count(*) FROM pg_authid") }
        #expect(error?.reason == .noRights)
    }

    @Test func aServerThatIsNotThereIsUnavailable() throws {
        let error = try refusal("postgres://u@/d?host=/nowhere/at/all")
        #expect(error.reason == .unavailable && error.message.contains("/nowhere/at/all"))
    }

    @Test func aReadOnlyServerIsRefusedUnlessAskedFor() throws {
        try server.run("CREATE DATABASE frozen")
        try server.run("ALTER DATABASE frozen SET default_transaction_read_only = on")
        #expect(try refusal(server.uri("frozen")).reason == .readOnly)
        let pool = try PostgresPool(
            PostgresConfiguration(try PostgresAddress(server.uri("frozen", "&target_session_attrs=any"))))
        defer { pool.close() }
        #expect(try pool.examine().isReadOnly)
    }

    /// A transaction waits for a server that will accept changes.
    @Test func aTransactionWaitsForAServerThatAcceptsChanges() throws {
        try server.run("CREATE DATABASE melting")
        try server.run("ALTER DATABASE melting SET default_transaction_read_only = on")
        let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(server.uri("melting"))))
        defer { pool.close() }
        let isCommitted = Locked(false)
        let thread = TestThread {
            let isDone = (try? pool.change("CREATE TABLE public.t (id int8)")) != nil
            isCommitted.withLock { $0 = isDone }
        }
        while pool.counters.retries.value < 2 { sched_yield() }
        try server.run("ALTER DATABASE melting RESET default_transaction_read_only")
        thread.join()
        #expect(isCommitted.withLock { $0 })
    }

    @Test func theErrorAfterAVainSearchIsTheServers() throws {
        try server.run("CREATE DATABASE iced")
        try server.run("ALTER DATABASE iced SET default_transaction_read_only = on")
        let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(server.uri("iced"))))
        defer { pool.close() }
        let outcome = pool.transaction(within: 200_000_000) { (transaction) throws(PostgresError) in
            try transaction.run(PostgresStatement("SELECT 1::int8")).integer(0, 0)
        }
        #expect(outcome.refusal.map { $0.reason == .readOnly || $0.reason == .unavailable } == true)
    }
}
