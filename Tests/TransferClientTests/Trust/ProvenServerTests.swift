import Testing
import TransferIO
import TransferKeys
import TransferProtocol
import TransferReceipts
import TransferTestSupport

@testable import TransferClient

/// A server is identified by a key that it has proved to own on this connection.
@Suite struct ProvenServerTests {
    private let identity = KeyPair(secret: Bytes32([UInt8](repeating: 1, count: 32)) ?? Bytes32())
    private let other = KeyPair(secret: Bytes32([UInt8](repeating: 2, count: 32)) ?? Bytes32())
    private let binding = [UInt8](repeating: 3, count: 32)

    /// The key of the certificate of a server with this seed.
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

    /// Without a valid proof, the server is identified by its certificate instead of the key that it names.
    @Test func aKeyThatItOnlyNamesIsNot() throws {
        let certificate = KeyFingerprint(of: try tlsKey(9).bytes)
        let elsewhere = identity.proof(on: [UInt8](repeating: 4, count: 32))
        var cut = identity.proof(on: binding)
        cut[63] ^= 1
        for proof in [nil, elsewhere, other.proof(on: binding), identity.sign(binding), cut] {
            let server = try server(identity, proof: proof)
            #expect(server.receiptKey == nil && server.fingerprint == certificate)
        }
        // A proof is worthless on a connection without a channel binding.
        #expect(try server(identity, proof: identity.proof(on: binding), binding: .some(nil)).receiptKey == nil)
        #expect(try server(nil).fingerprint == certificate)
    }

    @Test func withoutTLSNothingIsProven() throws {
        let server = try server(identity, proof: identity.proof(on: binding), tls: nil)
        #expect(server.receiptKey == nil && server.fingerprint == nil)
    }
}
