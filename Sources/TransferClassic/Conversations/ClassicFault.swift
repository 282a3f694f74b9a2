package import TransferModel

/// A violation of the framing's rules by the peer. The connection ends with it.
package struct ClassicFault: Error, Equatable, Sendable {
    /// The result code for the rule that was broken.
    package let code: ResultCode

    /// A sentence for users that says what was wrong.
    package let message: String

    /// The ID of the upload, or the type in a header, that the fault is about; 0 if unknown.
    package let reference: UInt64

    package init(_ code: ResultCode, _ message: String, reference: UInt64 = 0) {
        (self.code, self.message, self.reference) = (code, message, reference)
    }
}
