import TransferIO
import TransferKeys
import TransferProtocol
import TransferReceipts

/// What a connection has proved of the server at its other end. What `welcome` says of keys is a claim, which any server can
/// make of the key of any other one.
struct ProvenServer: Equatable, Sendable {
    /// The key that it signs receipts with. Nil for a server that has none, or has not shown that this one is its own, and
    /// without TLS.
    let receiptKey: ServerKey?

    /// The key of its certificate, which can be another one every few months; nil without TLS.
    private let tlsKey: KeyFingerprint?

    /// - Parameters:
    ///   - tlsKey: the key of the certificate, or the identity that the certificate is bound to.
    ///   - channelBinding: of the connection (RFC 9266). Who ends TLS in front of a server has another one than the server.
    init(_ welcome: Welcome, tlsKey: TLSKey?, channelBinding: [UInt8]?) {
        self.tlsKey = tlsKey.map { KeyFingerprint(of: $0.bytes) }
        guard let tlsKey, let key = welcome.serverKey.flatMap({ ServerKey($0) }) else {
            receiptKey = nil
            return
        }
        let isTLSKey = tlsKey.isEd25519 && tlsKey.bytes == key.raw.bytes
        let isProven =
            if let proof = welcome.serverKeyProof, let channelBinding {
                key.isProven(by: proof, on: channelBinding)
            } else {
                false
            }
        receiptKey = isTLSKey || isProven ? key : nil
    }

    /// - Parameter socket: of the connection that `welcome` came over; its handshake is done.
    init(_ welcome: Welcome, over socket: StreamSocket?) {
        self.init(welcome, tlsKey: socket?.peerIdentity, channelBinding: socket?.channelBinding)
    }

    /// What the people on it are known with: the key of its receipts, which stays, or that of its certificate.
    var fingerprint: KeyFingerprint? { receiptKey.map { KeyFingerprint(of: $0) } ?? tlsKey }
}
