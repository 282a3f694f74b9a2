import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

/// One end of a connection, on its own loop.
actor Talker {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var socket: StreamSocket?
    private var listener: ListeningSocket?

    init() throws(SystemError) {
        loop = try EventLoop(name: "test-talker")
    }

    // MARK: Becoming connected

    func adopt(_ number: Int32) throws(SystemError) {
        socket = try StreamSocket(Descriptor(number), loop: loop)
    }

    func listen(at endpoint: Endpoint) throws -> SocketAddress {
        let wanted = try endpoint.resolve()[0]
        let listener = try ListeningSocket(wanted, loop: loop)
        self.listener = listener
        return listener.address
    }

    /// Accepts one connection and stops listening.
    func accept() async throws {
        while let listener, socket == nil {
            switch try listener.accept() {
            case .connection(let descriptor, _): socket = try StreamSocket(descriptor, loop: loop)
            case .wouldBlock: await listener.acceptable.wait()
            case .exhausted(let error): throw error
            }
        }
        listener?.close()
        listener = nil
    }

    func connect(to address: SocketAddress) async throws(SystemError) {
        socket = try await StreamSocket.connect(to: address, loop: loop, timeout: 180_000_000_000)
    }

    /// Begins TLS on the connection.
    func secure(_ context: TLSContext, judge: TLSJudge? = nil) async throws {
        guard let socket else { return }
        try socket.beginTLS(context, judge: judge)
        while try !socket.handshake() { await socket.readable.wait() }
    }

    var security: StreamSocket.Security? { socket?.security }

    /// The peer sees the end of the connection without the message that TLS sends before.
    func breakOff() {
        socket?.layer = nil
        close()
    }

    func close() {
        socket?.close()
        listener?.close()
        socket = nil
        listener = nil
    }

    // MARK: Talking

    /// Sends all of `bytes` in pieces of random size.
    func send(_ bytes: [UInt8], seed: UInt64 = 1) async throws {
        guard let socket else { return }
        var random = SplitMix64(seed: seed)
        var sent = 0
        while sent < bytes.count {
            let size = min(bytes.count - sent, Int.random(in: 1...300_000, using: &random))
            let taken = try bytes.withUnsafeBytes { all in
                try socket.send(UnsafeRawBufferPointer(rebasing: all[sent..<sent + size]))
            }
            if let taken { sent += taken } else { await socket.writable.wait() }
        }
    }

    /// Receives `count` bytes in pieces of random size, or fewer if the connection ends first.
    func receive(_ count: Int = .max, seed: UInt64 = 2) async throws -> [UInt8] {
        guard let socket else { return [] }
        var random = SplitMix64(seed: seed)
        var received: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 300_000)
        while received.count < count {
            let size = min(count - received.count, Int.random(in: 1...piece.count, using: &random))
            let found = try piece.withUnsafeMutableBytes { all in
                try socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: all[..<size]))
            }
            switch found {
            case .bytes(let count): received += piece[..<count]
            case .wouldBlock: await socket.readable.wait()
            case .end: return received
            }
        }
        return received
    }

    /// Sends `there` and receives `back` while `far` does the opposite; both have to arrive unchanged.
    func exchange(_ there: [UInt8], for back: [UInt8], with far: Talker) async throws {
        async let sendingThere: Void = send(there, seed: 3)
        async let sendingBack: Void = far.send(back, seed: 4)
        async let arrivedThere = far.receive(there.count, seed: 5)
        async let arrivedBack = receive(back.count, seed: 6)
        let (first, second) = (try await arrivedThere, try await arrivedBack)
        _ = (try await sendingThere, try await sendingBack)
        #expect(first == there)
        #expect(second == back)
    }

    func endSending() {
        socket?.endSending()
    }

    func waitUntilReadable() async {
        await socket?.readable.wait()
    }

    /// Sends `ball` and waits until it comes back, `rounds` times.
    func serve(_ ball: [UInt8], rounds: Int) async throws -> Bool {
        for _ in 0..<rounds {
            try await send(ball)
            guard try await receive(ball.count) == ball else { return false }
        }
        return true
    }

    /// Sends received bytes back in pieces of `size` until the end.
    func giveBack(_ size: Int) async throws {
        while true {
            let ball = try await receive(size)
            guard !ball.isEmpty else { return }
            try await send(ball)
        }
    }
}

extension Talker {
    /// Sends with one call.
    ///
    /// - Returns: number of bytes that were taken.
    func offer(_ bytes: [UInt8]) throws -> Int? {
        try bytes.withUnsafeBytes { bytes in try socket?.send(bytes) }
    }

    func limitBuffers(_ size: Int32) {
        guard let number = socket?.number else { return }
        var size = size
        for option in [SO_SNDBUF, SO_RCVBUF] {
            setsockopt(number, SOL_SOCKET, option, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}
