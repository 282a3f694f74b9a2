import CSpawn
import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// A server of PostgreSQL with data and socket in a temporary directory. It ends when the object is released, at the
/// end of the process, and also if the process is killed.
///
/// A shell starts the server and waits for a word from the test: the signal to end it with. If the pipe closes without
/// a word, the process of the tests ends, and the shell also removes the directory and that of the template.
final class PostgresServer: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The folder of PostgreSQL's programs, that of the newest version; nil if PostgreSQL is not installed.
    static let programs: String? = {
        let parent = "/usr/lib/postgresql"
        let versions = names(in: parent).compactMap { Int($0) }.sorted()
        guard let newest = versions.last else { return nil }
        let folder = "\(parent)/\(newest)/bin"
        return access("\(folder)/initdb", X_OK) == 0 ? folder : nil
    }()

    /// Whether the tests can run: PostgreSQL has programs and a library, and refuses root, so it needs a user then.
    static var isInstalled: Bool {
        programs != nil && (try? PostgresLibrary.installed.get()) != nil && (geteuid() != 0 || owner != nil)
    }

    static let advice = "PostgreSQL is not installed (on Debian, the packages postgresql and libpq5)"

    /// A server for tests that only need some server.
    static let shared = Result { try PostgresServer() }

    static let user = "transfer"

    private static let present = Locked([UnsafeRawPointer: Process]())

    private let directory: TemporaryDirectory
    private let settings: [String]
    private let process = Locked(Process?.none)

    /// A running server.
    private final class Process: Sendable {
        let child: Child
        let words: Int32
        let log = Monitor(Log())
        private let isEnded = Locked(false)

        struct Log {
            var text = ""
            var isReady = false
            var hasEnded = false
        }

        init(child: Child, words: Int32) {
            (self.child, self.words) = (child, words)
        }

        /// Ends the server by a signal such as QUIT, and waits. Without a signal, also removes the directory.
        func end(_ signal: String?) {
            // With the lock held, so that a second caller waits for the end, too.
            isEnded.withLock { isEnded in
                guard !isEnded else { return }
                isEnded = true
                if let signal { _ = try? writeAll(Array("\(signal)\n".utf8), to: words) }
                close(words)
                _ = try? child.wait()
            }
        }
    }

    /// Leaves the removal of files to the shells at the end of the process: another thread may end the process while
    /// this function runs.
    private static let ending: Void = {
        atexit { for process in PostgresServer.present.withLock({ Array($0.values) }) { process.end(nil) } }
    }()

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - settings: such as `fsync=off`.
    ///   - files: paths of files of which the server gets copies in its data directory.
    ///   - copied: a function that makes the data directory; nil for a new database.
    init(
        _ settings: [String] = [], copying files: [String] = [], data copied: ((_ path: String) throws -> Void)? = nil
    ) throws {
        directory = try TemporaryDirectory()
        self.settings = settings
        Self.own(directory.path)
        if let copied { try copied(data) } else { try Self.copy(Self.template.get().path + "/data", data) }
        for file in files { try install(file) }
        try start()
    }

    deinit {
        end("QUIT")
    }

    /// The folder with the socket, which is also the name of the host.
    var path: String { directory.path }

    var data: String { directory.path("data") }

    /// The address, with further options that begin with `&`.
    func uri(_ database: String = "postgres", user: String = PostgresServer.user, _ options: String = "") -> String {
        "postgres://\(user)@/\(database)?host=\(path)\(options)"
    }

    /// The address, also while the server is a standby.
    private var anyURI: String { uri("postgres", "&target_session_attrs=any") }

    /// The path of the server's socket.
    var socket: String { directory.path(".s.PGSQL.5432") }

    /// Ends the server by a signal: QUIT immediately, INT after aborting all transactions (postgres(1)).
    func end(_ signal: String) {
        let process = process.withLock { process in
            defer { process = nil }
            return process
        }
        process?.end(signal)
        Self.present.withLock { $0[key] = nil }
    }

    private var key: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// Starts the server again, with settings in addition.
    func start(_ more: [String] = []) throws {
        guard let programs = Self.programs else { throw Failure(description: Self.advice) }
        let settings = [
            "listen_addresses=", "unix_socket_directories=\(path)", "fsync=on", "deadlock_timeout=10ms",
            "max_connections=60", "shared_buffers=16MB", "log_checkpoints=off",
        ]
        let server = ["\(programs)/postgres", "-D", data] + (settings + self.settings + more).flatMap { ["-c", $0] }
        let script = """
            directory=$1; template=$2; shift 2; "$@" & server=$!
            if read -r signal <&3; then kill -"$signal" $server; wait $server
            else kill -QUIT $server; wait $server; rm -rf "$directory" "$template"; fi
            """
        let command = ["/bin/sh", "-c", script, "sh", path, try Self.template.get().path] + Self.asOwner(server)
        let process = try Self.launch(command)
        self.process.withLock { $0 = process }
        Self.ending
        Self.present.withLock { $0[key] = process }
        let log = process.log.withLock {
            while !process.log.state.isReady, !process.log.state.hasEnded { process.log.wait() }
            return process.log.state
        }
        guard !log.text.contains("Address already in use") else {
            throw SystemError(errno: EADDRINUSE, call: "bind")
        }
        guard log.isReady else { throw Failure(description: "the server did not start: \(log.text)") }
    }

    private static func launch(_ command: [String]) throws -> Process {
        var (words, lines): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard cspawn_pipe(&words) == 0, cspawn_pipe(&lines) == 0 else { throw Failure(description: "no pipe") }
        defer { for number in [words[0], lines[1]] { close(number) } }
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        let launch = ChildLaunch(
            descriptors: [0: null, 1: lines[1], 2: lines[1], 3: words[0]],
            environment: ["PATH=/usr/bin:/bin", "LC_ALL=C"])
        let process = Process(child: try Child(command, launch), words: words[1])
        let log = lines[0]
        _ = TestThread { Self.read(log, process) }
        return process
    }

    /// Reads the log to its end, so that the server never waits for a reader.
    private static func read(_ number: Int32, _ process: Process) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while let count = try? system("read", { Glibc.read(number, &buffer, buffer.count) }), count > 0 {
            process.log.withLock {
                process.log.state.text += String(decoding: buffer[..<count], as: UTF8.self)
                if process.log.state.text.contains("ready to accept") { process.log.state.isReady = true }
                process.log.wakeAll()
            }
        }
        close(number)
        process.log.withLock {
            process.log.state.hasEnded = true
            process.log.wakeAll()
        }
    }

    // MARK: The data directory

    /// An empty database, copied for each server because making one takes a second.
    private static let template = Result {
        guard let programs else { throw Failure(description: advice) }
        let directory = try TemporaryDirectory()
        own(directory.path)
        try shell(
            ["\(programs)/initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=\(user)"]
                + ["-D", directory.path("data")])
        return directory
    }

    static func copy(_ from: String, _ to: String) throws { try shell(["/bin/cp", "-a", from, to]) }

    /// Runs a program as the owner of the server to its end, without output.
    static func shell(_ command: [String]) throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let child = try Child(asOwner(command), ChildLaunch(descriptors: [0: null, 1: null, 2: null]))
        let end = try child.wait()
        guard end == .exited(0) else { throw Failure(description: "\(command): \(end)") }
    }

    /// The user `postgres` if the tests run as root; nil otherwise.
    private static let owner: (user: uid_t, group: gid_t)? =
        geteuid() == 0 ? getpwnam("postgres").map { ($0.pointee.pw_uid, $0.pointee.pw_gid) } : nil

    private static func own(_ path: String) {
        if let owner { _ = chown(path, owner.user, owner.group) }
    }

    /// Copies a file into the data directory, readable by the server alone.
    private func install(_ file: String) throws {
        let copy = data + "/" + (file.split(separator: "/").last.map(String.init) ?? file)
        guard try ChildLaunch.shell("cp '\(file)' '\(copy)'") == 0, chmod(copy, 0o600) == 0 else {
            throw Failure(description: "cannot copy \(file)")
        }
        Self.own(copy)
    }

    private static func asOwner(_ command: [String]) -> [String] {
        guard let owner else { return command }
        return ["/usr/bin/setpriv", "--reuid", "\(owner.user)", "--regid", "\(owner.group)", "--clear-groups", "--"]
            + command
    }
}

// MARK: Pools

extension PostgresServer {
    private static let schemas = Locked(0)

    /// A configuration with a schema of its own, which exists.
    func configuration(_ options: String = "") throws -> PostgresConfiguration {
        let number = Self.schemas.withLock { number in
            number += 1
            return number
        }
        var configuration = PostgresConfiguration(try PostgresAddress(uri("postgres", options)))
        configuration.schema = "test\(number)"
        configuration.connectionLimit = 4
        try run("CREATE SCHEMA \(configuration.schema)")
        return configuration
    }

    func pool(_ options: String = "") throws -> PostgresPool { try PostgresPool(configuration(options)) }

    /// Performs a statement outside of a transaction, over a connection of its own.
    func run(_ sql: String, _ parameters: [PostgresValue] = []) throws {
        let connector = PostgresConnector(
            PostgresConfiguration(try PostgresAddress(anyURI)), library: try PostgresLibrary.require(),
            counters: PostgresCounters())
        let deadline = monotonicDeadline(after: 180_000_000_000)
        _ = try connector.connect(until: deadline).connection.run([PostgresStatement(sql, parameters)], until: deadline)
    }

    /// Waits until a query that gives a boolean gives true. The server waits between the attempts.
    func wait(until sql: String, _ parameters: [PostgresValue] = []) throws {
        let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(anyURI)))
        defer { pool.close() }
        let pause = PostgresStatement("SELECT pg_sleep(0.005) IS NULL")
        var isSo = false
        while !isSo {
            isSo = try pool.read { (transaction) throws(PostgresError) in
                guard let rows = try transaction.run([PostgresStatement(sql, parameters), pause]).first else {
                    return false
                }
                return try rows.boolean(0, 0)
            }
        }
    }
}

extension PostgresPool {
    /// Performs statements in a transaction that has to be committed.
    func change(_ statements: [PostgresStatement]) throws {
        let outcome = transaction { (transaction) throws(PostgresError) in _ = try transaction.finish(statements) }
        _ = try outcome.committed()
    }

    func change(_ sql: String, _ parameters: [PostgresValue] = []) throws {
        try change([PostgresStatement(sql, parameters)])
    }

    /// The number in the first column of the first row.
    func number(_ sql: String, _ parameters: [PostgresValue] = []) throws -> Int64 {
        try read { (transaction) throws(PostgresError) in
            try transaction.run(PostgresStatement(sql, parameters)).integer(0, 0)
        }
    }
}

extension PostgresOutcome {
    /// The value of a committed transaction; throws the error of another one.
    func committed() throws -> Value {
        switch self {
        case .committed(let value): return value
        case .rolledBack(let error): throw error
        case .unknown(let error): throw Unknown(error: error)
        }
    }

    struct Unknown: Error {
        let error: PostgresError
    }

    var isUnknown: Bool { if case .unknown = self { true } else { false } }

    /// The error of a transaction that was rolled back.
    var refusal: PostgresError? { if case .rolledBack(let error) = self { error } else { nil } }
}
