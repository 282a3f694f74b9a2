import CLinux
import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// Addresses at which the server listens.
    @Suite(.directoryOnly) struct ListeningTests {
        @Test func aPortInUseSaysWhatToDo() async throws {
            let first = try await TestServer({ _ in }, listen: [TestServer.anyPort], log: TestServer.noLog, in: .init())
            let other = try TemporaryDirectory()
            let configuration = ServerConfiguration(directory: other.path, endpoints: [first.endpoint])
            let second = try Server(configuration, log: TestServer.noLog)
            let error = await #expect(throws: ServerError.self) { try await second.start() }
            #expect(error?.message.contains("\(first.endpoint)") ?? false)
            #expect(error?.message.contains("--listen") ?? false)
            await second.shutDown()
            await first.end()
        }

        @Test func aDirectoryInUseIsRefused() async throws {
            try await serving { server in
                let configuration = ServerConfiguration(
                    directory: server.directory.path("store"), endpoints: [TestServer.anyPort])
                #expect(throws: ServerError.self) { _ = try Server(configuration, log: TestServer.noLog) }
            }
        }

        @Test func aUnixSocketServesAndGoes() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("socket")
            try await serving(listen: [.unix(path: path)], in: directory) { server in
                #expect(server.endpoint == .unix(path: path))
                try server.checkServes()
            }
            #expect(access(path, F_OK) != 0)
        }

        @Test func aDeadServersSocketIsTakenOver() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("socket")
            let dead = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let code = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(dead, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            #expect(code == 0)
            close(dead)
            try await serving(listen: [.unix(path: path)], in: directory) { try $0.checkServes() }
        }

        @Test func anIPv6AddressServes() async throws {
            do {
                try await serving(listen: [.internet(host: "::1", port: 0)]) { server in
                    #expect(server.endpoint.description.hasPrefix("[::1]:"))
                    try server.checkServes()
                }
            } catch let error as ServerError {
                // This happens only on machines without IPv6.
                #expect(access("/proc/net/if_inet6", F_OK) != 0, "\(error.message)")
            }
        }

        @Test func severalAddressesServe() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("socket")
            try await serving(listen: [TestServer.anyPort, .unix(path: path)], in: directory) { server in
                try server.checkServes()
                let client = try RawClient(.unix(path: path))
                client.send(Frames.hello + Frames.upload("beside", [1]))
                #expect(try client.result().code == .committed)
            }
        }

        @Test func aConnectionTooManyWaitsForItsTurn() async throws {
            try await serving({ $0.maximumConnections = 2 }) { server in
                var clients = try (0..<2).map { _ in try server.greetedClient() }
                let waiting = try server.client()
                waiting.send(Frames.hello + Frames.upload("waited", [1]))
                for (number, client) in clients.enumerated() {
                    client.send(Frames.upload("first-\(number)", [1]))
                    #expect(try client.result().code == .committed)
                }
                #expect(server.tree == ["first-0", "first-1"])
                clients.removeFirst()
                #expect(try waiting.result().code == .committed)
                clients[0].send(Frames.upload("still", [1]))
                #expect(try clients[0].result().code == .committed)
            }
        }
    }
}
