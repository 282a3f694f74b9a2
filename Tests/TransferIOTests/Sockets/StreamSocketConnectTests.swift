import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct StreamSocketConnectTests {
    /// Time limit for an attempt that the peer is expected to answer.
    private static let patience: Int64 = 180_000_000_000

    private static let loopbacks = Wire.hasInternet6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"]

    /// A socket that has an address and does not block, but does not listen.
    private final class Bound: Sendable {
        let address: SocketAddress
        let descriptor: Descriptor

        init(_ endpoint: Endpoint) throws {
            let wanted = try endpoint.resolve()[0]
            let descriptor = try makeSocket(family: wanted.family)
            let number = descriptor.number
            try system("bind") { wanted.withPointer { bind(number, $0, $1) } }
            address = try SocketAddress.filled(by: "getsockname") { getsockname(number, $0, &$1) }
            self.descriptor = descriptor
        }

        /// Listens with the shortest possible queue.
        func listen() throws {
            try system("listen") { Glibc.listen(descriptor.number, 0) }
        }
    }

    /// Makes connections that are never accepted, until one fails.
    ///
    /// - Returns: the error, or nil if the queue is never full.
    private static func fillQueue(
        isolation: isolated (any Actor)? = #isolation, _ connect: () async throws(SystemError) -> StreamSocket
    ) async -> SystemError? {
        var connected: [StreamSocket] = []
        defer { for socket in connected { socket.close() } }
        do throws(SystemError) {
            // Many times the length of the shortest queue.
            while connected.count < 16 { connected.append(try await connect()) }
            return nil
        } catch {
            return error
        }
    }

    /// A connection changes its congestion control if this process may choose the other one; otherwise it keeps the
    /// present one.
    @Test func congestionControlFitsThePeer() async throws {
        // An administrator may choose any available congestion control.
        let list = "tcp_\(geteuid() == 0 ? "available" : "allowed")_congestion_control"
        let names = MarkdownDocument.read("/proc/sys/net/ipv4/\(list)")?.split { " \n".contains($0) } ?? []
        try await onLoop { actor in
            let bound = try Bound(.internet(host: "127.0.0.1", port: 0))
            try bound.listen()
            let socket = try await StreamSocket.connect(to: bound.address, loop: actor.loop, timeout: Self.patience)
            defer { socket.close() }
            #expect(Self.congestionControl(of: socket) == "reno", "as for every peer on this machine")
            #expect(socket.link?.measuresBandwidth == false)
            socket.tune(isLocal: false)
            #expect(Self.congestionControl(of: socket) == (names.contains("bbr") ? "bbr" : "reno"))
            let link = try #require(socket.link)
            #expect(link.measuresBandwidth == names.contains("bbr"))
            #expect((1..<5_000_000_000).contains(link.leastRoundTrip))
            #expect((0...1).contains(link.heldByMemory))
            socket.tune(isLocal: true)
            #expect(Self.congestionControl(of: socket) == "reno")
        }
    }

    private static func congestionControl(of socket: StreamSocket) -> String {
        var name = [UInt8](repeating: 0, count: 16)
        var length = socklen_t(name.count)
        getsockopt(socket.number, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &length)
        return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    }

    @Test(arguments: loopbacks) func aPortOnWhichNobodyListensRefuses(host: String) async throws {
        try await onLoop { actor in
            let bound = try Bound(.internet(host: host, port: 0))
            await #expect(throws: SystemError(errno: ECONNREFUSED, call: "connect")) {
                _ = try await StreamSocket.connect(to: bound.address, loop: actor.loop, timeout: Self.patience)
            }
        }
    }

    @Test func aSocketFileOnWhichNobodyListensRefuses() async throws {
        let directory = try TemporaryDirectory()
        try await onLoop { actor in
            let bound = try Bound(.unix(path: directory.path("socket")))
            await #expect(throws: SystemError(errno: ECONNREFUSED, call: "connect")) {
                _ = try await StreamSocket.connect(to: bound.address, loop: actor.loop, timeout: Self.patience)
            }
            let missing = SocketAddress(unixPath: directory.path("missing"))
            await #expect(throws: SystemError(errno: ENOENT, call: "connect")) {
                _ = try await StreamSocket.connect(to: missing, loop: actor.loop, timeout: Self.patience)
            }
        }
    }

    /// The connections are never accepted: when the queue is full, the kernel drops further attempts without an answer
    /// (listen(2)).
    @Test(arguments: loopbacks) func anAttemptThatIsNotAnsweredTimesOut(host: String) async throws {
        try await onLoop { actor in
            let bound = try Bound(.internet(host: host, port: 0))
            try bound.listen()
            let error = await Self.fillQueue { () throws(SystemError) in
                try await StreamSocket.connect(to: bound.address, loop: actor.loop, timeout: 20_000_000)
            }
            #expect(error == SystemError(errno: ETIMEDOUT, call: "connect"))
        }
    }

    /// A caller that gives up an attempt need not wait for its end.
    @Test func closingEndsAnAttempt() async throws {
        try await onLoop { actor in
            let bound = try Bound(.internet(host: "127.0.0.1", port: 0))
            try bound.listen()
            let error = await Self.fillQueue { () throws(SystemError) in
                let socket = try StreamSocket(for: bound.address, loop: actor.loop)
                let timer = actor.loop.schedule(at: monotonicDeadline(after: 20_000_000)) { socket.close() }
                defer { actor.loop.cancel(timer) }
                try await socket.connect(to: bound.address, timeout: .max)
                return socket
            }
            #expect(error == SystemError(errno: ECANCELED, call: "connect"))
        }
    }

    @Test func aFullUnixQueueIsAnError() async throws {
        let directory = try TemporaryDirectory()
        try await onLoop { actor in
            let bound = try Bound(.unix(path: directory.path("socket")))
            try bound.listen()
            let error = await Self.fillQueue { () throws(SystemError) in
                try await StreamSocket.connect(to: bound.address, loop: actor.loop, timeout: Self.patience)
            }
            #expect(error == SystemError(errno: EAGAIN, call: "connect"))
        }
    }

    @Test func withoutALimitItIsNotGivenUpAtOnce() async throws {
        try await onLoop { actor in
            let listener = try ListeningSocket(
                try Endpoint.internet(host: "127.0.0.1", port: 0).resolve()[0], loop: actor.loop)
            let socket = try await StreamSocket.connect(to: listener.address, loop: actor.loop, timeout: .max)
            socket.close()
            listener.close()
        }
    }

    @Test(.takesTurns) func failedAttemptsLeaveNoDescriptorBehind() async {
        await #expect(processExitsWith: .success) {
            try await onLoop { actor in
                let descriptors = try OwnDescriptors()
                let missing = SocketAddress(unixPath: "/proc/missing")
                let bound = try Bound(.internet(host: "127.0.0.1", port: 0))
                let before = try descriptors.count
                for address in [missing, bound.address, missing, bound.address] {
                    await #expect(throws: SystemError.self) {
                        _ = try await StreamSocket.connect(to: address, loop: actor.loop, timeout: Self.patience)
                    }
                }
                let after = try descriptors.count
                #expect(after == before)
            }
        }
    }
}
