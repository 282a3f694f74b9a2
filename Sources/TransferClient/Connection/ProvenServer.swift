import TransferIO
import TransferKeys
import TransferProtocol
import TransferReceipts

/// The keys of the server that a connection has proved. The key in `welcome` is a claim: every server can name the key of
/// another server.
struct ProvenServer: Equatable, Sendable {
    /// The key that the server signs receipts with; nil if the server names none or has not proved it, and without TLS.
    let receiptKey: ServerKey?

    /// The key of the server's certificate, which can change every few months; nil without TLS.
    private let tlsKey: KeyFingerprint?

    /// - Parameters:
    ///   - tlsKey: the key of the certificate, or the identity that the certificate is bound to.
    ///   - channelBinding: of the connection (RFC 9266). It differs from the server's if a proxy ends TLS in front of the server.
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

    /// Identifies the server in `known_people`: the key of its receipts, or that of its certificate if no other key is proved.
    var fingerprint: KeyFingerprint? { receiptKey.map { KeyFingerprint(of: $0) } ?? tlsKey }
}
