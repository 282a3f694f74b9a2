import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// How both sides talk: with TLS, or without where that is wanted.
extension ServerSession {
    /// The first byte of a record of a TLS handshake (RFC 8446, section 5.1). Frames begin with 0.
    private static let handshakeRecord: UInt8 = 22

    /// Finds out how the client talks. Afterwards this side may talk too, or the session is ending.
    func secure() async {
        guard let tls = transport.tls else {
            mayTalk = true
            return
        }
        do throws(StreamError) {
            try await secure(tls)
        } catch {
            end(.insecure(error.reason))
        }
    }

    private func secure(_ tls: TLSContext) async throws(StreamError) {
        guard let socket = driver.socket, let byte = try await firstByte(socket) else { return }
        guard byte == Self.handshakeRecord else {
            mayTalk = true
            return end(
                .fault(
                    ProtocolFault(
                        .encryptionRequired,
                        "This server takes encrypted connections only: connect with TLS, without --plaintext.")))
        }
        try socket.beginTLS(tls)
        while ending == nil {
            guard try !socket.handshake() else {
                mayTalk = true
                if let security = socket.security { observability.log.write([.secured(peer: peer, security)]) }
                return
            }
            await driver.wake.wait()
        }
    }

    /// - Returns: nothing when the session is ending.
    private func firstByte(_ socket: StreamSocket) async throws(StreamError) -> UInt8? {
        while ending == nil {
            switch try socket.firstByte() {
            case .byte(let byte): return byte
            case .wouldBlock: await driver.wake.wait()
            case .end: end(.done)
            }
        }
        return nil
    }
}
