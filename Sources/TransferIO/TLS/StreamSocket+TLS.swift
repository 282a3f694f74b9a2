import Glibc
import TransferSystem

extension StreamSocket {
    /// Starts TLS on the connection: once `handshake` is done, `receive` and `send` transfer plaintext.
    ///
    /// - Parameters:
    ///   - name: the server's name, on a client, as in `Endpoint`.
    ///   - judge: on a client, decides whether the server can be trusted.
    package func beginTLS(
        _ context: TLSContext, name: String? = nil, judge: TLSJudge? = nil
    ) throws(StreamError) {
        // Trap: each of the two callers starts TLS once, before any bytes are sent.
        precondition(layer == nil, "TLS was begun twice")
        let session: TLSSession
        do throws(TLSFault) {
            session = try TLSSession(context, name: name, judge: judge)
        } catch {
            throw .tls(error)
        }
        // The socket owns the layer and releases it when it is closed.
        let wire = TLSLayer.Wire(
            receive: { [unowned self] (buffer) throws(SystemError) in try receiveBare(into: buffer) },
            send: { [unowned self] (bytes) throws(SystemError) in try sendBare(bytes) })
        layer = TLSLayer(session, loop.ciphertext, wire)
    }

    /// Continues the handshake as far as possible.
    ///
    /// - Returns: whether the handshake is done. If not, the caller calls again after `readable` has fired.
    package func handshake() throws(StreamError) -> Bool {
        guard !isClosed, let layer else { throw .system(SystemError(errno: ECANCELED, call: "handshake")) }
        return try layer.handshake()
    }

    /// The first byte from a peer, which remains unread.
    package enum FirstByte: Equatable, Sendable {
        case byte(UInt8)
        case wouldBlock
        case end
    }

    /// Reads the first byte without removing it.
    package func firstByte() throws(StreamError) -> FirstByte {
        guard !isClosed else { return .end }
        var byte: UInt8 = 0
        let count = try streaming { () throws(SystemError) in
            try withUnsafeMutableBytes(of: &byte) { (buffer) throws(SystemError) in
                try receiveBare(into: buffer, flags: Int32(MSG_PEEK))
            }
        }
        return switch count {
        case nil: .wouldBlock
        case 0?: .end
        default: .byte(byte)
        }
    }

    /// Properties of a TLS connection, once its handshake is done.
    package struct Security: Equatable, Sendable {
        /// The key in the peer's certificate; nil if the peer has shown none.
        package let peerKey: TLSKey?

        /// Whether the session was resumed.
        package let isResumed: Bool

        /// The cipher's name as registered with IANA.
        package let cipher: String

        /// The registered name of the protocol above TLS; nil if the client offers none.
        package let protocolName: String?
    }

    /// The registered name of the protocol that the peer has chosen above TLS, even if the handshake has failed since.
    package var chosenProtocol: String? { layer?.session.protocolName }

    /// Whether the TLS handshake is done.
    package var isSecure: Bool { layer?.isEstablished ?? false }

    /// See `TLSSession.peerIdentity`; nil without TLS or before the handshake is done.
    package var peerIdentity: TLSKey? { isSecure ? layer?.session.peerIdentity : nil }

    /// See `TLSSession.channelBinding`; nil without TLS or before the handshake is done.
    package var channelBinding: [UInt8]? { isSecure ? layer?.session.channelBinding : nil }

    /// Properties of TLS; nil without TLS or before the handshake is done.
    package var security: Security? {
        guard let layer, layer.isEstablished else { return nil }
        let session = layer.session
        return Security(
            peerKey: session.peerKey, isResumed: session.isResumed, cipher: session.cipher,
            protocolName: session.protocolName)
    }
}
