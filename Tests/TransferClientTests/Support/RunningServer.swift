import TransferClient
import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferServer

/// A real server in this process, on a port that the system chose.
struct RunningServer {
    struct NotListening: Error {}

    let directory: TemporaryDirectory
    let server: Server
    let port: UInt16

    /// - Parameters:
    ///   - port: 0 for any free port, or the port of a stopped server that this one replaces.
    ///   - disk: makes the file system calls of the store, and decides whether the server counts as root's.
    ///   - adjust: changes the configuration.
    init(
        in directory: TemporaryDirectory, port: UInt16 = 0, disk: Disk = Disk(),
        _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws {
        self.directory = directory
        let endpoint = Endpoint.internet(host: "127.0.0.1", port: port)
        var configuration = ServerConfiguration(directory: directory.path("store"), endpoints: [endpoint])
        configuration.security = .plaintext
        configuration.drain = .seconds(0)
        configuration.blockingThreads = 2
        // The event loops of clients share the cores with all tests.
        configuration.timeouts.handshake = .seconds(600)
        configuration.timeouts.silence = .seconds(600)
        // An upload that a test holds up is not slow.
        configuration.timeouts.minimumRate = 0
        adjust(&configuration)
        configuration.offersOwners = disk.isRoot
        var foundations = ServerFoundations()
        foundations.openStore = { (configuration) throws(Failure) in
            OpenedStore(
                try FileStore(
                    path: configuration.directory, durability: configuration.durability, limits: configuration.space,
                    fileSystem: nil, disk: disk))
        }
        server = try Server(configuration, log: Log(descriptor: -1), on: foundations)
        guard case .internet(_, let port)? = try await server.start().first else { throw NotListening() }
        self.port = port
    }

    var address: ServerAddress {
        get throws { try address("") }
    }

    func address(_ folder: String) throws -> ServerAddress {
        guard let address = ServerAddress("127.0.0.1:\(port)/\(folder)") else { throw NotListening() }
        return address
    }

    /// The content of a file that the server stored.
    func stored(_ path: String) -> [UInt8]? { Files.read(directory.path("store/\(path)")) }

    /// Files of uploads that are not complete.
    var parts: [String] { Files.tree(directory.path("store/.transfer/incoming")) }

    var tree: [String] { Files.tree(directory.path("store")) }

    func stop() async {
        await server.shutDown()
    }
}

/// Runs a test with a new server.
func withServer<T>(
    disk: Disk = Disk(), hasTrash: Bool = true, _ body: (RunningServer) async throws -> T
) async throws -> T {
    let running = try await RunningServer(in: TemporaryDirectory(), disk: disk) { $0.trash = hasTrash }
    do {
        let value = try await body(running)
        await running.stop()
        return value
    } catch {
        await running.stop()
        throw error
    }
}
