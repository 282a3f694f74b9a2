package import TransferModel

/// A violation of the protocol by the peer. The connection ends with it.
package struct ProtocolFault: Error, Equatable, Sendable {
    /// The code for the violated rule. It is sent to the peer before the connection closes.
    package let code: ResultCode

    /// A sentence for users, sent with the code.
    package let message: String

    /// The peer's first bytes, at most `openingSize`, if they are not a frame of this protocol; otherwise empty. They
    /// are never sent.
    package let opening: [UInt8]

    /// Most bytes of `opening`, enough to recognise the program at the other end.
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
