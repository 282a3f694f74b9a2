import Testing
import TransferTestSupport

@testable import TransferIO

/// What the other side may say behind the handshake, to a session in memory. What a connection makes of it is in
/// `TLSLayerTests`.
@Suite struct PeerMessageTests {
    @Test(arguments: [RecordPeer.Side.client, .server]) func bothSidesAgree(_ role: RecordPeer.Side) throws {
        let (side, peer) = try Self.conversation(with: role)
        #expect(try side.decrypt(peer.seal(RecordPeer.Kind.content, [1, 2])).bytes == [1, 2])
        #expect(try peer.content(side.encrypt([3])) == [3])
    }

    /// The four bytes of a header were enough to end the process.
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

    private static func conversation(with role: RecordPeer.Side) throws -> (TLSSide, RecordPeer) {
        let side = try TLSSide(
            role == .client ? TLSPair.serverContext.get() : .client(), judge: role == .client ? nil : TLSPair.trusting)
        let peer = try RecordPeer(role)
        var flight = role == .client ? try peer.shake() : try side.shake()
        for turn in 0..<4 {
            flight = (turn % 2 == 0) == (role == .client) ? try side.shake(flight) : try peer.shake(flight)
        }
        return (side, peer)
    }
}
