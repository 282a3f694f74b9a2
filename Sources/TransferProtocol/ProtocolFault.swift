package import TransferModel

/// A violation of the protocol by the peer. The connection ends with it.
package struct ProtocolFault: Error, Equatable, Sendable {
    /// The broken rule; sent to the peer before the connection closes.
    package let code: ResultCode

    /// A sentence for users, sent with the code.
    package let message: String

    /// The peer's first bytes if they are no frame of this protocol, at most `openingSize`; otherwise empty. Never
    /// sent.
    package let opening: [UInt8]

    /// Bytes of `opening` at most, enough to tell which program is at the other end.
    package static let openingSize = 64

    package init(_ code: ResultCode, _ message: String, opening: [UInt8] = []) {
        self.code = code
        self.message = message
        self.opening = opening
    }

    /// Compares code and message, not `opening`.
    package static func == (one: ProtocolFault, other: ProtocolFault) -> Bool {
        one.code == other.code && one.message == other.message
    }
}
