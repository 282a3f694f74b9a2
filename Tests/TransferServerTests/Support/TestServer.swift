import CLinux
import Glibc
import Synchronization
import TransferClusterModel
import TransferIO
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSystem
import TransferTestSupport

@testable import TransferServer

/// Runs the body on a separate thread with a server in this process, and stops the server afterwards.
func serving(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, listen: [Endpoint] = [TestServer.anyPort],
    log: Log = TestServer.noLog, in directory: TemporaryDirectory? = nil,
    on foundations: ServerFoundations = ServerFoundations(),
    _ body: @escaping @Sendable (TestServer) throws -> Void
) async throws {
    let server = try await TestServer(
        change, listen: listen, log: log, in: try directory ?? TemporaryDirectory(), on: foundations)
    let outcome = await Result { try await TestThread.run { try body(server) } }
    await server.end()
    try outcome.get()
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> sending Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// A server on its own port, with a directory that is removed after the test.
///
/// If the store is that of a cluster, there are two servers, and connections alternate between them. A test that looks
/// at what one of them has for itself says so (`OneServer`).
final class TestServer: Sendable {
    /// Seconds to wait for a state that causes no event. Only a state that is never reached takes so long.
    fileprivate static let patience = 180

    static let anyPort = Endpoint.internet(host: "127.0.0.1", port: 0)

    /// A log without output. A closed descriptor must not stop the server.
    static let noLog = Log(descriptor: -1)

    /// A server and its addresses.
    private struct Listening {
        let server: Server
        let endpoint: Endpoint
        let classic: [Endpoint]
        let plainHTTP: [Endpoint]
        let probes: Endpoint?

        init(_ server: Server, _ endpoint: Endpoint) async {
            (self.server, self.endpoint) = (server, endpoint)
            classic = await server.classicEndpoints
            plainHTTP = await server.plainHTTPEndpoints
            probes = await server.probeEndpoints.first
        }
    }

    private let all: [Listening]
    private let asked = Atomic(0)

    /// The servers in turn.
    private var next: Listening { all[asked.wrappingAdd(1, ordering: .relaxed).oldValue % all.count] }

    /// The only server, or the first one.
    var server: Server { all[0].server }

    /// The address of each server in turn.
    var endpoint: Endpoint { next.endpoint }

    /// Addresses for clients with classic framings, in the order of the configuration; those of each server in turn.
    var classicEndpoints: [Endpoint] { next.classic }

    /// Addresses of the listeners for proxies; those of each server in turn.
    var plainHTTPEndpoints: [Endpoint] { next.plainHTTP }

    /// Address for programs that monitor the server; nil if they have no separate address.
    var probeEndpoint: Endpoint? { all[0].probes }
    let directory: TemporaryDirectory

    /// Medium of a store in memory; nil if the server stores in the directory.
    let medium: (any TestMedium)?

    /// Whether the store is that of a cluster.
    var isCluster: Bool { medium is ClusterMedium }
    private let ending = Locked<Task<Void, Never>?>(nil)

    init(
        _ change: (inout ServerConfiguration) -> Void, listen: [Endpoint], log: Log, in directory: TemporaryDirectory,
        on foundations: ServerFoundations = ServerFoundations()
    ) async throws {
        self.directory = directory
        var configuration = ServerConfiguration(directory: directory.path("store"), endpoints: listen)
        // Most tests do not concern the trash, and look at everything in the directory.
        configuration.trash = false
        configuration.security = .plaintext
        configuration.blockingThreads = 2
        // Tests of HTTP call the server by this name.
        configuration.advertised = "server"
        // A client that has to wait for other tests is not silent.
        configuration.timeouts.handshake = .seconds(600)
        configuration.timeouts.silence = .seconds(600)
        change(&configuration)
        var foundations = foundations
        medium = try StoreKind.current.prepare(&foundations, in: directory)
        let first = try await Self.start(configuration, log, foundations)
        guard StoreKind.current == .cluster, StoreKind.mostServers > 1 else {
            all = [first]
            return
        }
        do {
            try Self.shareIdentity(of: configuration.directory, with: directory.path("second"))
            configuration.directory = directory.path("second")
            all = [first, try await Self.start(configuration, log, foundations)]
        } catch {
            await first.server.shutDown()
            throw error
        }
    }

    /// Gives another server the key of the first one, if that has a key, as the operator of a cluster does.
    private static func shareIdentity(of directory: String, with other: String) throws {
        let name = "\(RelativePath.reservedName)/\(ServerIdentity.fileName)"
        guard let identity = read("\(directory)/\(name)") else { return }
        for folder in [other, "\(other)/\(RelativePath.reservedName)"] { mkdir(folder, 0o700) }
        _ = try OwnFile.writeUnsynced(identity, to: "\(other)/\(name)", replaces: true)
    }

    /// A server with discovery needs the UDP port with the number of the TCP port, which a socket of another test may
    /// use.
    private static func start(
        _ configuration: ServerConfiguration, _ log: Log, _ foundations: ServerFoundations
    ) async throws -> Listening {
        var attempts = configuration.discovery == nil ? 1 : 10
        while true {
            try await waitUntilReleased("\(configuration.directory)/.transfer/lock")
            let server = try Server(configuration, log: log, on: foundations)
            do throws(ServerError) {
                if let endpoint = try await server.start().first { return await Listening(server, endpoint) }
                throw ServerError("the server listens nowhere")
            } catch {
                await server.shutDown()
                attempts -= 1
                guard attempts > 0, error.message.contains("(UDP)") else { throw error }
            }
        }
    }

    /// Waits until the last tasks of a stopped server have released the directory, which they may hold longer than its
    /// connections.
    private static func waitUntilReleased(_ lock: String) async throws {
        let end = time(nil) + TestServer.patience
        let number = open(lock, O_RDWR)
        guard number >= 0 else { return }
        defer { close(number) }
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            guard time(nil) < end else { throw RawClient.Failure(description: "never: the directory is free") }
            await Task.yield()
        }
    }

    /// Begins an orderly stop of the server in the background.
    func beginShutDown() {
        ending.withLock { [all] in
            $0 = Task {
                await withTaskGroup { group in
                    for each in all { group.addTask { await each.server.shutDown() } }
                }
            }
        }
    }

    /// Stops the server at once.
    func end() async {
        for each in all { await each.server.stopConnections() }
        if let ending = ending.withLock({ $0 }) { return await ending.value }
        for each in all { await each.server.shutDown() }
    }

    func client() throws -> RawClient { try RawClient(endpoint) }

    /// Connects a client and waits until the server has welcomed it.
    ///
    /// - Parameter run: number of the push that the client belongs to.
    func greetedClient(run: UInt64? = nil) throws -> RawClient {
        let client = try client()
        client.send(.hello(Hello(agent: "test", run: run)))
        guard case .message(.welcome) = try client.next() else {
            throw RawClient.Failure(description: "the server did not welcome")
        }
        return client
    }

    /// Polls for a state that causes no event.
    func waitUntil(_ what: String, _ isSo: () -> Bool) throws {
        let end = time(nil) + TestServer.patience
        while !isSo() {
            guard time(nil) < end else { throw RawClient.Failure(description: "never: \(what)") }
            sched_yield()
        }
    }

    /// Waits until the server accepts no more connections.
    func waitUntilClosed() {
        for each in all { while (try? RawClient(each.endpoint)) != nil { sched_yield() } }
    }
}

// MARK: Stored files

extension TestServer {
    func content(_ path: String) -> [UInt8]? {
        guard let medium else { return Self.read(directory.path("store/" + path)) }
        return RelativePath(stored: path).flatMap(medium.content)
    }

    /// Writes a file behind the server, like `write`.
    ///
    /// - Returns: whether the file was written.
    func put(_ content: [UInt8], _ path: String) -> Bool {
        guard let medium else { return Self.write(content, directory.path("store/" + path)) }
        guard let path = RelativePath(stored: path) else { return false }
        return (try? medium.write(content, path)) != nil
    }

    /// Paths of all files and folders except the server's own. `parts` lists the incoming parts that are left.
    var tree: [String] {
        let paths = medium.map { $0.paths() } ?? Self.walk(directory.path("store"), "")
        return paths.filter { !$0.hasPrefix(".transfer") }.sorted()
    }

    var parts: [String] {
        medium.map { $0.uploads.map { "\($0).part" }.sorted() }
            ?? Self.walk(directory.path("store/.transfer/incoming"), "").sorted()
    }

    /// Paths of the files of mail that was not delivered yet.
    var mail: [String] {
        let folder = RelativePath.mailFolder.string + "/"
        let paths = medium.map { $0.paths() } ?? Self.walk(directory.path("store/.transfer/mail"), folder)
        return paths.filter { $0.hasPrefix(folder) }
    }

    /// Shows that the server still serves by storing a file for another client.
    ///
    /// - Parameter isSecured: whether to use TLS.
    func checkServes(isSecured: Bool = false) throws {
        let client = try client()
        if isSecured { try client.secure() }
        client.send(Frames.hello + Frames.upload("still-serving", [1, 2, 3]))
        let result = try client.result()
        guard result.code.isSuccess, result.isDurable, content("still-serving") == [1, 2, 3] else {
            throw RawClient.Failure(description: "the server no longer serves: \(result)")
        }
    }

    /// Writes a file as another program would, with a time of modification long ago, so that a later change shows
    /// however slow the clock of the file system is.
    ///
    /// - Returns: whether the file was written.
    static func write(_ content: [UInt8], _ path: String) -> Bool {
        let number = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard number >= 0 else { return false }
        defer { close(number) }
        var rest = content[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        let past = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        return futimens(number, [past, past]) == 0
    }

    static func read(_ path: String) -> [UInt8]? {
        let number = open(path, O_RDONLY)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var (content, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 16))
        while case let count = Glibc.read(number, &buffer, buffer.count), count > 0 { content += buffer[..<count] }
        return content
    }

    private static func walk(_ path: String, _ prefix: String) -> [String] {
        names(in: path).flatMap { name in
            let below = path + "/" + name
            return [prefix + name] + (isDirectory(below) ? walk(below, prefix + name + "/") : [])
        }
    }
}
