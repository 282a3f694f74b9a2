import Testing
import TransferIO
import TransferKeys
import TransferProtocol
import TransferReceipts
import TransferTestSupport

@testable import TransferClient

/// Which key a server is known by: one that it has shown to be its own, on this connection.
@Suite struct ProvenServerTests {
    private let identity = KeyPair(secret: Bytes32([UInt8](repeating: 1, count: 32)) ?? Bytes32())
    private let other = KeyPair(secret: Bytes32([UInt8](repeating: 2, count: 32)) ?? Bytes32())
    private let binding = [UInt8](repeating: 3, count: 32)

    /// The key of the certificate of a server with this identity.
    private func tlsKey(_ seed: UInt8) throws -> TLSKey {
        try #require(TLSContext.server(.ed25519(seed: [UInt8](repeating: seed, count: 32))).key)
    }

    private func server(
        _ key: KeyPair?, proof: [UInt8]? = nil, tls seed: UInt8? = 9, binding: [UInt8]?? = nil
    ) throws -> ProvenServer {
        ProvenServer(
            Welcome(serverKey: key?.key.raw.bytes, serverKeyProof: proof), tlsKey: try seed.map(tlsKey),
            channelBinding: binding ?? self.binding)
    }

    @Test func theKeyOfItsCertificateIsItsOwn() throws {
        let server = try server(identity, tls: 1)
        #expect(server.receiptKey == identity.key && server.fingerprint == KeyFingerprint(of: identity.key))
    }

    @Test func aKeyThatItSignsWithHereIsItsOwn() throws {
        let server = try server(identity, proof: identity.proof(on: binding))
        #expect(server.receiptKey == identity.key && server.fingerprint == KeyFingerprint(of: identity.key))
    }

    /// It is known by its certificate then, not by what it says.
    @Test func aKeyThatItOnlyNamesIsNot() throws {
        let certificate = KeyFingerprint(of: try tlsKey(9).bytes)
        let elsewhere = identity.proof(on: [UInt8](repeating: 4, count: 32))
        var cut = identity.proof(on: binding)
        cut[63] ^= 1
        for proof in [nil, elsewhere, other.proof(on: binding), identity.sign(binding), cut] {
            let server = try server(identity, proof: proof)
            #expect(server.receiptKey == nil && server.fingerprint == certificate)
        }
        // What another server was shown is of no use here.
        #expect(try server(identity, proof: identity.proof(on: binding), binding: .some(nil)).receiptKey == nil)
        #expect(try server(nil).fingerprint == certificate)
    }

    @Test func withoutTLSNothingIsProven() throws {
        let server = try server(identity, proof: identity.proof(on: binding), tls: nil)
        #expect(server.receiptKey == nil && server.fingerprint == nil)
    }
}
