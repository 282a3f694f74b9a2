import Testing
import TransferTestSupport

@testable import TransferIO

/// Messages that a peer may send after the handshake, to a session in memory. `TLSLayerTests` tests connections.
@Suite struct PeerMessageTests {
    @Test(arguments: [RecordPeer.Side.client, .server]) func bothSidesAgree(_ role: RecordPeer.Side) throws {
        let (side, peer) = try Self.conversation(with: role)
        #expect(try side.decrypt(peer.seal(RecordPeer.Kind.content, [1, 2])).bytes == [1, 2])
        #expect(try peer.content(side.encrypt([3])) == [3])
    }

    /// The four bytes of a header once were enough to end the process.
    @Test(arguments: [RecordPeer.Side.client, .server], 1..<5)
    func halfAMessageHoldsBackWhatIsWritten(_ role: RecordPeer.Side, count: Int) throws {
        let (side, peer) = try Self.conversation(with: role)
        let message = HandshakeMessage.keyUpdate(isRequested: true)
        _ = try side.decrypt(peer.seal(RecordPeer.Kind.handshake, message.prefix(count)))
        let before = try side.encrypt([1, 2, 3])
        #expect(before.isEmpty == (count == 4), "OpenSSL looks at a message when it has its header.")
        _ = try side.decrypt(peer.seal(RecordPeer.Kind.handshake, message.dropFirst(count)))
        peer.renew()
        #expect(try peer.content(before + side.encrypt([1, 2, 3])).suffix(3) == [1, 2, 3])
        #expect(try side.decrypt(peer.seal(RecordPeer.Kind.content, [4])).bytes == [4])
    }

    // MARK: Keys

    @Test(arguments: [RecordPeer.Side.client, .server]) func keysAreRenewedByVolume(_ role: RecordPeer.Side) throws {
        let (side, peer) = try Self.conversation(with: role, recordsPerKey: 4)
        var said: [(kind: UInt8, content: [UInt8])] = []
        for number in 0..<10 as Range<UInt8> { said += try peer.open(side.encrypt([number])) }
        // Tickets are sent first.
        let messages = said.filter {
            $0.kind == RecordPeer.Kind.handshake && $0.content.first == HandshakeMessage.keyUpdate
        }
        #expect(messages.map(\.content) == [[24, 0, 0, 1, 0], [24, 0, 0, 1, 0]])
        #expect(said.filter { $0.kind == RecordPeer.Kind.content }.flatMap(\.content) == Array(0..<10))
        // Each record of one call counts.
        _ = try peer.open(side.encrypt([UInt8](repeating: 1, count: 3 << 14)))
        let last = try peer.open(side.encrypt([1]))
        #expect(last.first?.content == [24, 0, 0, 1, 0] && last.last?.content == [1])
    }

    /// A side that receives many records under one key asks the peer to change it.
    @Test(arguments: [RecordPeer.Side.client, .server]) func aPeerThatKeepsItsKeyIsAsked(_ role: RecordPeer.Side) throws
    {
        let (side, peer) = try Self.conversation(with: role, recordsPerKey: 4)
        _ = try peer.open(side.encrypt([0]))
        for number in 0..<8 as Range<UInt8> {
            #expect(try side.decrypt(peer.seal(RecordPeer.Kind.content, [number])).bytes == [number])
        }
        let asked = try peer.open(side.written + side.encrypt([1]))
        #expect(asked.first?.content == HandshakeMessage.keyUpdate(isRequested: true))
        #expect(asked.last?.content == [1])
        let answer = try peer.seal(RecordPeer.Kind.handshake, HandshakeMessage.keyUpdate(isRequested: false))
        peer.renew()
        #expect(try side.decrypt(answer + peer.seal(RecordPeer.Kind.content, [9])).bytes == [9])
        #expect(try peer.content(side.encrypt([2])) == [2])
    }

    /// A side that has ended sending still receives, and sends nothing.
    @Test(arguments: [RecordPeer.Side.client, .server]) func whoHasEndedAsksForNothing(_ role: RecordPeer.Side) throws {
        let (side, peer) = try Self.conversation(with: role, recordsPerKey: 1)
        _ = try side.close()
        for number in 0..<6 as Range<UInt8> {
            #expect(try side.decrypt(peer.seal(RecordPeer.Kind.content, [number])).bytes == [number])
            #expect(side.written.isEmpty)
        }
    }

    /// A key update cannot be sent in the middle of a message of the peer, so it is sent after that message.
    @Test(arguments: [RecordPeer.Side.client, .server]) func halfAMessageWhenKeysAreDue(_ role: RecordPeer.Side) throws
    {
        let (side, peer) = try Self.conversation(with: role, recordsPerKey: 1)
        let message = HandshakeMessage.keyUpdate(isRequested: false)
        #expect(try peer.content(side.encrypt([1])) == [1])
        _ = try side.decrypt(peer.seal(RecordPeer.Kind.handshake, message.prefix(4)))
        #expect(try side.encrypt([2]) == [])
        _ = try side.decrypt(peer.seal(RecordPeer.Kind.handshake, message.dropFirst(4)))
        peer.renew()
        let said = try peer.open(side.encrypt([2]))
        #expect(said.map(\.content) == [message, [2]])
    }

    private static func conversation(
        with role: RecordPeer.Side, recordsPerKey: Int = TLSContext.recordsPerKey
    ) throws -> (TLSSide, RecordPeer) {
        let side =
            try role == .client
            ? TLSSide(.server(.ed25519(seed: TLSPair.serverSeed), recordsPerKey: recordsPerKey))
            : TLSSide(.client(recordsPerKey: recordsPerKey), judge: TLSPair.trusting)
        let peer = try RecordPeer(role)
        var flight = role == .client ? try peer.shake() : try side.shake()
        for turn in 0..<4 {
            flight = (turn % 2 == 0) == (role == .client) ? try side.shake(flight) : try peer.shake(flight)
        }
        return (side, peer)
    }
}
