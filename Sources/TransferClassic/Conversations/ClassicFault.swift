package import TransferModel

/// What a peer did that its framing does not allow. The connection ends with it.
package struct ClassicFault: Error, Equatable, Sendable {
    /// Says which rule was broken.
    package let code: ResultCode

    /// A sentence for people.
    package let message: String

    /// What the fault is about, in the words of the framing: the id of an upload, or the type that a header gave. 0 where
    /// there is none.
    package let reference: UInt64

    package init(_ code: ResultCode, _ message: String, reference: UInt64 = 0) {
        (self.code, self.message, self.reference) = (code, message, reference)
    }
}
