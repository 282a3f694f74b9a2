import Glibc
import TransferSystem

extension StreamSocket {
    /// Puts TLS on top: from here on what is received and sent is plaintext, once `handshake` is done.
    ///
    /// - Parameters:
    ///   - name: of the server that a client means, as `Endpoint` has it.
    ///   - judge: decides on a client whether it is the right server.
    package func beginTLS(
        _ context: TLSContext, name: String? = nil, judge: TLSJudge? = nil
    ) throws(StreamError) {
        // Trap: each of our two callers begins once, before it talks.
        precondition(layer == nil, "TLS was begun twice")
        let session: TLSSession
        do throws(TLSFault) {
            session = try TLSSession(context, name: name, judge: judge)
        } catch {
            throw .tls(error)
        }
        // The socket owns the layer, which is gone when it is closed.
        let wire = TLSLayer.Wire(
            receive: { [unowned self] (buffer) throws(SystemError) in try receiveBare(into: buffer) },
            send: { [unowned self] (bytes) throws(SystemError) in try sendBare(bytes) })
        layer = TLSLayer(session, loop.ciphertext, wire)
    }

    /// Goes on with the handshake as far as it can now.
    ///
    /// - Returns: whether it is done. If not, call it again when `readable` has fired.
    package func handshake() throws(StreamError) -> Bool {
        guard !isClosed, let layer else { throw .system(SystemError(errno: ECANCELED, call: "handshake")) }
        return try layer.handshake()
    }

    /// What a peer says first, which stays to be received.
    package enum FirstByte: Equatable, Sendable {
        case byte(UInt8)
        case wouldBlock
        case end
    }

    /// Looks at the first byte that was received and leaves it there.
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

    /// What TLS came to, once its handshake is done.
    package struct Security: Equatable, Sendable {
        /// The key in the other side's certificate, if it has shown one.
        package let peerKey: TLSKey?

        /// Whether it goes on from an earlier conversation.
        package let isResumed: Bool

        /// The cipher's registered name.
        package let cipher: String

        /// What both sides agreed to run above TLS, by its registered name; nothing where the client offers none.
        package let protocolName: String?
    }

    /// What the other side has chosen to speak above TLS, by its registered name, as far as a handshake has come that may have failed
    /// since.
    package var chosenProtocol: String? { layer?.session.protocolName }

    /// Whether a handshake of TLS is done.
    package var isSecure: Bool { layer?.isEstablished ?? false }

    /// As `TLSSession.peerIdentity`; nil without TLS or before the handshake is done.
    package var peerIdentity: TLSKey? { isSecure ? layer?.session.peerIdentity : nil }

    /// As `TLSSession.channelBinding`; nil without TLS or before the handshake is done.
    package var channelBinding: [UInt8]? { isSecure ? layer?.session.channelBinding : nil }

    /// Nothing without TLS or before the handshake is done.
    package var security: Security? {
        guard let layer, layer.isEstablished else { return nil }
        let session = layer.session
        return Security(
            peerKey: session.peerKey, isResumed: session.isResumed, cipher: session.cipher,
            protocolName: session.protocolName)
    }
}
