package import TransferModel

/// What a peer did that the protocol does not allow. The connection ends with it.
package struct ProtocolFault: Error, Equatable, Sendable {
    /// Says which rule was broken; sent to the peer before the connection closes.
    package let code: ResultCode

    /// A sentence for people.
    package let message: String

    package init(_ code: ResultCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
