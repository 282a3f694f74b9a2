internal import CLinux
import Glibc
import Testing
import TransferIO
import TransferSystem
import TransferTestSupport

@Suite(.timeLimit(.minutes(10))) struct StreamSocketTests {
    @Test(arguments: Wire.available, [false, true])
    func muchGoesBothWaysAtOnceByteForByte(wire: Wire, isSecured: Bool) async throws {
        var random = SplitMix64(seed: 7)
        let (there, back) = (random.bytes(3_000_001), random.bytes(2_500_003))
        try await wire.connected(isSecured: isSecured) { near, far in
            try await near.exchange(there, for: back, with: far)
        }
    }

    @Test(arguments: Wire.available, [false, true])
    func nobodyMissesAnEdge(wire: Wire, isSecured: Bool) async throws {
        let ball = (0..<64).map { UInt8($0) }
        try await wire.connected(isSecured: isSecured) { near, far in
            async let returning: Void = far.giveBack(ball.count)
            let isSame = try await near.serve(ball, rounds: 300)
            await near.endSending()
            try await returning
            #expect(isSame)
        }
    }

    /// The ping-pong runs in tasks that prefer their loop, as on a server, so no other thread is involved.
    @Test(arguments: Wire.available, [false, true])
    func nobodyMissesAnEdgeWithoutLeavingTheLoop(wire: Wire, isSecured: Bool) async throws {
        let ball = (0..<64).map { UInt8($0) }
        try await wire.connected(isSecured: isSecured) { near, far in
            let returning = Task(executorPreference: far.loop) { try await far.giveBack(ball.count) }
            let serving = Task(executorPreference: near.loop) { try await near.serve(ball, rounds: 300) }
            #expect(try await serving.value)
            await near.endSending()
            try await returning.value
        }
    }

    @Test(arguments: Wire.available, [false, true])
    func whoEndsSendingStillReceives(wire: Wire, isSecured: Bool) async throws {
        try await wire.connected(isSecured: isSecured) { near, far in
            try await near.send([1, 2, 3])
            await near.endSending()
            #expect(try await far.receive() == [1, 2, 3])
            try await far.send([4, 5])
            #expect(try await near.receive(2) == [4, 5])
        }
    }

    @Test(arguments: Wire.available, [false, true])
    func aCloseIsTheEndForThePeer(wire: Wire, isSecured: Bool) async throws {
        try await wire.connected(isSecured: isSecured) { near, far in
            async let rest = far.receive()
            await near.close()
            let bytes = try await rest
            #expect(bytes.isEmpty)
        }
    }

    /// The end that came together with the last bytes is reported once.
    @Test(arguments: Wire.available, [false, true])
    func theEndBehindBytesIsFound(wire: Wire, isSecured: Bool) async throws {
        try await wire.connected(isSecured: isSecured) { near, far in
            try await near.send([1, 2, 3])
            await near.endSending()
            // By now the kernel has both the bytes and the end.
            try await far.send([4])
            #expect(try await near.receive(1) == [4])
            #expect(try await far.receive() == [1, 2, 3])
        }
    }

    @Test(arguments: Wire.available) func aCloseWithUnreadBytesResetsTheConnection(wire: Wire) async throws {
        try await wire.connected { near, far in
            try await far.send([1])
            await near.waitUntilReadable()
            await near.close()
            await #expect(throws: StreamError.system(SystemError(errno: ECONNRESET, call: "recv"))) {
                try await far.receive()
            }
        }
    }

    @Test(arguments: Wire.available) func sendingToAPeerThatIsGoneFails(wire: Wire) async throws {
        try await wire.connected { near, far in
            await near.close()
            // The kernel may accept the first bytes: only the peer's answer to them says that the connection is gone.
            let error = await #expect(throws: StreamError.self) {
                try await far.send([UInt8](repeating: 1, count: 50_000_000))
            }
            let codes = [EPIPE, ECONNRESET].map { StreamError.system(SystemError(errno: $0, call: "send")) }
            #expect(error.map(codes.contains) ?? false)
        }
    }

    @Test(.takesTurns) func aClosedSocketIsAtItsEnd() async throws {
        try await onLoop { actor in
            let numbers = try SocketPair.numbers()
            let far = Descriptor(numbers.far)
            let socket = try StreamSocket(Descriptor(numbers.near), loop: actor.loop)
            socket.close()
            socket.close()
            socket.endSending()
            socket.disableDelay()
            #expect(socket.pendingError() == nil)
            var byte: UInt8 = 0
            let found = try withUnsafeMutableBytes(of: &byte) { (bytes) throws(StreamError) in
                try socket.receive(into: bytes)
            }
            #expect(found == .end)
            #expect(throws: StreamError.system(SystemError(errno: EPIPE, call: "send"))) {
                try withUnsafeBytes(of: byte) { (bytes) throws(StreamError) in _ = try socket.send(bytes) }
            }
            // The descriptor is closed as well: the other end sees that.
            let count = withUnsafeMutableBytes(of: &byte) { read(far.number, $0.baseAddress, 1) }
            #expect(count == 0)
        }
    }

    @Test func closingWakesWhoeverWaits() async throws {
        try await onLoop { actor in
            let numbers = try SocketPair.numbers()
            let far = Descriptor(numbers.far)
            let socket = try StreamSocket(Descriptor(numbers.near), loop: actor.loop)
            let waiting = [socket.readable, socket.writable].map { signal in
                Task.immediate(executorPreference: actor.loop) {
                    _ = actor
                    await signal.wait()
                }
            }
            socket.close()
            for task in waiting { await task.value }
            _ = consume far
        }
    }

    @Test func severalSourcesShareOneSignal() async throws {
        try await onLoop { actor in
            let news = Signal()
            let numbers = [try SocketPair.numbers(), try SocketPair.numbers()]
            let sockets = try numbers.map {
                try StreamSocket(Descriptor($0.near), loop: actor.loop, readable: news)
            }
            for pair in numbers {
                try system("write") { write(pair.far, "x", 1) }
                await news.wait()
            }
            for socket in sockets { socket.close() }
            for pair in numbers { close(pair.far) }
        }
    }

    @Test func aDescriptorThatCannotBeWatchedIsClosed() async throws {
        let directory = try TemporaryDirectory()
        try await onLoop { actor in
            let file = try system("creat") { creat(directory.path("file"), 0o600) }
            let inode = Self.inode(file)
            #expect(inode != nil)
            #expect(throws: SystemError(errno: EPERM, call: "epoll_ctl")) {
                _ = try StreamSocket(Descriptor(file), loop: actor.loop)
            }
            // Another test may have got the number, but not the file.
            #expect(Self.inode(file) != inode)
        }
    }

    private static func inode(_ number: Int32) -> UInt64? {
        var status = stat()
        return fstat(number, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
