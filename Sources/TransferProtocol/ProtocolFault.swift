package import TransferModel

/// What a peer did that the protocol does not allow. The connection ends with it.
package struct ProtocolFault: Error, Equatable, Sendable {
    /// Says which rule was broken; sent to the peer before the connection closes.
    package let code: ResultCode

    /// A sentence for people.
    package let message: String

    /// Where no frame of this protocol was found: what came instead, `openingSize` bytes at most. Empty otherwise, and never sent.
    package let opening: [UInt8]

    /// Enough to see what talks there.
    package static let openingSize = 64

    package init(_ code: ResultCode, _ message: String, opening: [UInt8] = []) {
        self.code = code
        self.message = message
        self.opening = opening
    }

    /// What was broken; not by what.
    package static func == (one: ProtocolFault, other: ProtocolFault) -> Bool {
        one.code == other.code && one.message == other.message
    }
}
