import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct ListeningSocketTests {
    private static let loopback = Endpoint.internet(host: "127.0.0.1", port: 0)
    private static let patience: Int64 = 180_000_000_000

    private static func listen(_ endpoint: Endpoint, _ loop: EventLoop) throws -> ListeningSocket {
        guard case .unix(let path) = endpoint else { return try ListeningSocket(endpoint.resolve()[0], loop: loop) }
        return try ListeningSocket(SocketAddress(unixPath: path), unixPath: path, loop: loop)
    }

    private static func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    @Test func reportsThePortThatTheSystemChose() async throws {
        try await onLoop { actor in
            let listeners = [try Self.listen(Self.loopback, actor.loop), try Self.listen(Self.loopback, actor.loop)]
            let ports = listeners.map(\.address.port)
            #expect(ports.allSatisfy { $0 != nil && $0 != 0 })
            #expect(ports[0] != ports[1])
            #expect(listeners[0].address.description == "127.0.0.1:\(ports[0] ?? 0)")
            for listener in listeners { listener.close() }
        }
    }

    @Test(.enabled(if: Wire.hasInternet6, "there is no ::1 on this machine"))
    func theSamePortCanBeHadInBothFamilies() async throws {
        try await onLoop { actor in
            try await whereThePortIsFree {
                let first = try Self.listen(Self.loopback, actor.loop)
                defer { first.close() }
                let port = try #require(first.address.port)
                let second = try Self.listen(.internet(host: "::1", port: port), actor.loop)
                #expect(second.address.description == "[::1]:\(port)")
                second.close()
            }
        }
    }

    @Test(.takesTurns) func aPortInUseIsRefused() async throws {
        try await onLoop { actor in
            try await whereThePortIsFree {
                let first = try Self.listen(Self.loopback, actor.loop)
                let error = #expect(throws: SystemError(errno: EADDRINUSE, call: "bind")) {
                    _ = try ListeningSocket(first.address, loop: actor.loop)
                }
                #expect(error?.isAddressInUse == true)
                first.close()
                // After the close the port is free.
                try ListeningSocket(first.address, loop: actor.loop).close()
            }
        }
    }

    /// A single event of the edge-triggered listener announces all connections.
    @Test(arguments: [Self.loopback, nil] as [Endpoint?])
    func acceptsAllThatWait(endpoint: Endpoint?) async throws {
        let directory = try TemporaryDirectory()
        try await onLoop { actor in
            let listener = try Self.listen(endpoint ?? .unix(path: directory.path("socket")), actor.loop)
            var clients: [StreamSocket] = []
            for _ in 0..<10 {
                clients.append(
                    try await StreamSocket.connect(to: listener.address, loop: actor.loop, timeout: Self.patience))
            }
            await listener.acceptable.wait()
            var accepted = 0
            while case .connection(_, let peer) = try listener.accept() {
                #expect(peer.isLocal)
                accepted += 1
            }
            #expect(accepted == 10)
            for client in clients { client.close() }
            listener.close()
        }
    }

    @Test(.takesTurns) func aClosedListenerAcceptsNobodyAndWakesWhoeverWaits() async throws {
        try await onLoop { actor in
            let listener = try Self.listen(Self.loopback, actor.loop)
            let waiting = Task.immediate(executorPreference: actor.loop) {
                _ = actor
                await listener.acceptable.wait()
            }
            listener.close()
            listener.close()
            await waiting.value
            guard case .wouldBlock = try listener.accept() else {
                Issue.record("a closed listener accepted")
                return
            }
            // Another process may have taken the port meanwhile, and accept the connection.
            await #expect(throws: SystemError(errno: ECONNREFUSED, call: "connect")) {
                for _ in 0..<10 {
                    let other = try Self.listen(Self.loopback, actor.loop)
                    other.close()
                    for address in [listener.address, other.address] {
                        try await StreamSocket.connect(to: address, loop: actor.loop, timeout: Self.patience).close()
                    }
                }
            }
        }
    }

    @Test func theSocketFileGoesWithTheListener() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        try await onLoop { actor in
            let listener = try Self.listen(.unix(path: path), actor.loop)
            #expect(Self.exists(path))
            listener.close()
            #expect(!Self.exists(path))
        }
    }

    @Test(.takesTurns) func aStaleSocketFileIsReplaced() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        try await onLoop { actor in
            // Without its path the listener leaves the file behind, like a server that was killed.
            try ListeningSocket(SocketAddress(unixPath: path), loop: actor.loop).close()
            #expect(Self.exists(path))
            let listener = try Self.listen(.unix(path: path), actor.loop)
            let client = try await StreamSocket.connect(
                to: listener.address, loop: actor.loop, timeout: Self.patience)
            client.close()
            listener.close()
        }
    }

    @Test func theSocketFileOfALiveServerIsLeftAlone() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        try await onLoop { actor in
            let first = try Self.listen(.unix(path: path), actor.loop)
            #expect(throws: SystemError(errno: EADDRINUSE, call: "bind")) {
                _ = try Self.listen(.unix(path: path), actor.loop)
            }
            let client = try await StreamSocket.connect(
                to: SocketAddress(unixPath: path), loop: actor.loop, timeout: Self.patience)
            client.close()
            first.close()
        }
    }

    @Test func whatIsNoSocketIsLeftAlone() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("file")
        close(creat(path, 0o600))
        try await onLoop { actor in
            #expect(throws: SystemError(errno: EADDRINUSE, call: "bind")) {
                _ = try Self.listen(.unix(path: path), actor.loop)
            }
        }
        #expect(Self.exists(path))
    }

    @Test(.takesTurns) func withoutDescriptorsItSaysSoAndGoesOnLater() async {
        await #expect(processExitsWith: .success) {
            try await onLoop { actor in
                var descriptors = try OwnDescriptors()
                let listener = try Self.listen(Self.loopback, actor.loop)
                let client = try await StreamSocket.connect(
                    to: listener.address, loop: actor.loop, timeout: Self.patience)
                descriptors.takeAll()
                for _ in 0..<3 {
                    guard case .exhausted(let error) = try listener.accept() else {
                        Issue.record("accepted without a descriptor")
                        return
                    }
                    #expect(error == SystemError(errno: EMFILE, call: "accept4"))
                }
                descriptors.giveBack()
                guard case .connection = try listener.accept() else {
                    Issue.record("not accepted with a descriptor")
                    return
                }
                client.close()
                listener.close()
            }
        }
    }
}
