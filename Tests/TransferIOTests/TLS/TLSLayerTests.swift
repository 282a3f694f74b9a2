import Testing
import TransferTestSupport

@testable import TransferIO

/// How a connection treats messages after the handshake, from a peer that writes its own records.
@Suite(.timeLimit(.minutes(10))) struct TLSLayerTests {
    static let roles = [RecordPeer.Side.client, .server]
    private static let update = HandshakeMessage.keyUpdate(isRequested: true)

    /// No bytes can be sent in the middle of a message of the peer, and all are sent after it, also by a side that does
    /// not read.
    @Test(arguments: roles, [true, false]) func halfAMessage(_ role: RecordPeer.Side, isPaused: Bool) async throws {
        try await Self.connected(role) { near, far in
            try await far.say(RecordPeer.Kind.handshake, Self.update.prefix(4))
            await near.waitUntilReadable()
            #expect(try await near.find() == .wouldBlock)
            #expect(try await near.offer([1, 2, 3]) == nil)
            await near.pauseReading(isPaused)
            async let sending: Void = near.send([4, 5, 6])
            try await far.say(RecordPeer.Kind.handshake, Self.update.dropFirst(4))
            await far.renew()
            #expect(try await far.hear(3) == [4, 5, 6])
            try await sending
            try await far.say(RecordPeer.Kind.content, [7])
            await near.pauseReading(false)
            #expect(try await near.receive(1) == [7])
        }
    }

    /// Another record in the middle of a message ends the connection; the sender receives the error as well.
    @Test(arguments: roles, [true, false])
    func somethingElseInsideAMessage(_ role: RecordPeer.Side, isSender: Bool) async throws {
        try await Self.connected(role) { near, far in
            try await far.say(RecordPeer.Kind.handshake, Self.update.prefix(4))
            try await far.say(RecordPeer.Kind.content, [1])
            await near.waitUntilReadable()
            await #expect(throws: StreamError.self) {
                if isSender { try await near.send([1]) }
                _ = try await near.receive(1)
            }
        }
    }

    @Test(arguments: roles) func anEndInsideAMessage(_ role: RecordPeer.Side) async throws {
        try await Self.connected(role) { near, far in
            try await far.say(RecordPeer.Kind.handshake, Self.update.prefix(4))
            // A close_notify alert.
            try await far.say(RecordPeer.Kind.alert, [1, 0])
            await near.waitUntilReadable()
            #expect(try await near.receive() == [])
            await #expect(throws: StreamError.truncated) { try await near.send([1, 2, 3]) }
        }
    }

    /// Answers wait while the peer does not read, and then the bytes behind its requests have to wait as well.
    @Test(arguments: roles) func moreQuestionsThanThereIsRoomForAnswers(_ role: RecordPeer.Side) async throws {
        try await Self.connected(role) { near, far in
            await near.limitBuffers(4096)
            let content = SplitMix64.bytes(seed: 1, CiphertextBuffers.plaintextLimit)
            #expect(try await near.offer(content) == content.count)
            for _ in 0..<200 {
                try await far.say(RecordPeer.Kind.handshake, Self.update)
                await far.renew()
            }
            try await far.say(RecordPeer.Kind.content, [1, 2, 3])
            await near.waitUntilReadable()
            #expect(try await near.find() == .wouldBlock)
            #expect(try await far.hear(content.count) == content)
            async let last = far.hear(1)
            #expect(try await near.receive(3) == [1, 2, 3])
            try await near.send([4])
            #expect(try await last == [4])
        }
    }

    private static func connected(
        _ role: RecordPeer.Side, _ body: (Talker, PeerTalker) async throws -> Void
    ) async throws {
        try await Wire.pair.connected { near, far in
            let peer = PeerTalker(try RecordPeer(role), far)
            async let securing: Void = near.secure(
                role == .client ? TLSPair.serverContext.get() : .client(),
                judge: role == .client ? nil : TLSPair.trusting)
            try await peer.shake()
            try await securing
            try await body(near, peer)
        }
    }
}
