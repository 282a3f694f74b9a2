import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

/// Behaviour that only TLS has on sockets; `StreamSocketTests` tests the rest.
@Suite(.timeLimit(.minutes(10))) struct TLSStreamTests {
    /// The kernel takes a few KiB at a time, so that nearly all bytes wait in the layer.
    @Test func tinySocketBuffers() async throws {
        var random = SplitMix64(seed: 8)
        let (there, back) = (random.bytes(1_000_001), random.bytes(700_003))
        try await Wire.pair.connected(isSecured: true) { near, far in
            await near.limitBuffers(4096)
            await far.limitBuffers(4096)
            try await near.exchange(there, for: back, with: far)
        }
    }

    /// Keys change after one or three records, in both directions at once, while nearly all bytes wait.
    @Test(arguments: [1, 3]) func newKeysHoldNobodyUp(_ recordsPerKey: Int) async throws {
        var random = SplitMix64(seed: 10)
        let (there, back) = (random.bytes(1_000_001), random.bytes(700_003))
        try await Wire.pair.connected { near, far in
            await near.limitBuffers(4096)
            await far.limitBuffers(4096)
            async let serving: Void = far.secure(
                .server(.ed25519(seed: TLSPair.serverSeed), recordsPerKey: recordsPerKey))
            try await near.secure(.client(recordsPerKey: recordsPerKey), judge: TLSPair.trusting)
            try await serving
            try await near.exchange(there, for: back, with: far)
        }
    }

    /// Accepted bytes are sent, even if no call to send follows.
    @Test func acceptedBytesAreNotForgotten() async throws {
        var random = SplitMix64(seed: 9)
        let content = random.bytes(200_000)
        try await Wire.pair.connected(isSecured: true) { near, far in
            await near.limitBuffers(4096)
            let taken = try await near.offer(content)
            #expect(taken == content.count)
            await near.endSending()
            #expect(try await far.receive() == content)
        }
    }

    @Test(arguments: Wire.available) func anEndThatNobodySaidIsNone(wire: Wire) async throws {
        try await wire.connected(isSecured: true) { near, far in
            // Closing a socket with unread bytes, even those of a ticket, resets the connection.
            try await far.send([1, 2, 3])
            #expect(try await near.receive(3) == [1, 2, 3])
            await near.breakOff()
            await #expect(throws: StreamError.truncated) { try await far.receive() }
        }
    }

    @Test func facts() async throws {
        try await Wire.pair.connected(isSecured: true) { near, far in
            let (client, server) = (await near.security, await far.security)
            let key = try TLSPair.serverContext.get().key
            #expect(client?.peerKey == key)
            #expect(server?.peerKey == nil && client?.isResumed == false && client?.cipher == server?.cipher)
        }
    }

    @Test(arguments: [[0, 2, 0, 23] as [UInt8], Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)])
    func whatDoesNotSpeakTLSIsTold(_ words: [UInt8]) async throws {
        try await Wire.pair.connected { near, far in
            try await far.send(words)
            await #expect(throws: StreamError.tls(.notTLS(opening: words))) {
                try await near.secure(.client(), judge: TLSPair.trusting)
            }
        }
    }

    @Test func aServerThatIsNotTrustedIsToldNothing() async throws {
        try await Wire.pair.connected { near, far in
            let serving = Task { try await far.secure(TLSPair.serverContext.get()) }
            await #expect(throws: StreamError.tls(.untrusted)) {
                try await near.secure(.client()) { _, _ in false }
            }
            await near.close()
            await #expect(throws: StreamError.self) { try await serving.value }
            let facts = (await near.security, await far.security)
            #expect(facts.0 == nil && facts.1 == nil)
        }
    }

    @Test func nothingIsSentBeforeTheHandshakeIsDone() async throws {
        try await Wire.pair.connected { near, far in
            try await near.begin(.client(), judge: TLSPair.trusting)
            await #expect(throws: StreamError.self) { try await near.send([1]) }
        }
    }

    @Test func theFirstByteStays() async throws {
        try await Wire.pair.connected { near, far in
            let before = try await near.firstByte()
            #expect(before == .wouldBlock)
            try await far.send([22, 3])
            await near.waitUntilReadable()
            let first = try await near.firstByte()
            #expect(first == .byte(22))
            #expect(try await near.receive(2) == [22, 3])
            await far.close()
            await near.waitUntilReadable()
            let last = try await near.firstByte()
            #expect(last == .end)
        }
    }
}

extension Talker {
    fileprivate func begin(_ context: TLSContext, judge: @escaping TLSJudge) throws {
        try socket?.beginTLS(context, judge: judge)
    }

    fileprivate func firstByte() throws -> StreamSocket.FirstByte? { try socket?.firstByte() }
}
