/// Why something cannot be sealed or opened.
package enum SealingError: Error, Equatable, Sendable {
    /// Not a file of the age format.
    case notSealed
    /// A form of it that is not read here; what, to begin a sentence with.
    case unsupported(String)
    /// Bytes or a text that nobody may write so; a sentence.
    case malformed(String)
    /// Beyond a limit; a sentence.
    case tooLarge(String)
    /// None of the keys opens it.
    case notForYou
    /// It authenticates nothing that follows: changed, or cut off in the middle of a chunk.
    case damaged
    /// It ends before its last chunk.
    case truncated
    /// Something follows the last chunk.
    case trailingData
    /// A public key of low order, with which no secret can be agreed on.
    case weakKey
    /// Signed by somebody else than it should be, or changed since.
    case wrongSigner
    /// A state was made for another source, or for others to open.
    case otherSource
    /// It has come to its end already.
    case ended
    /// A library or the kernel refused what it refuses only for want of memory; the call.
    case failed(String)
}

extension SealingError {
    /// A sentence for people.
    package var message: String {
        switch self {
        case .notSealed: "It is not sealed: it does not begin as an age file does."
        case .unsupported(let what): "\(what) cannot be opened here."
        case .malformed(let sentence), .tooLarge(let sentence): sentence
        case .notForYou: "It is sealed for others: none of your keys opens it."
        case .damaged: "It is damaged: it was changed or cut off after it had been sealed."
        case .truncated: "It is cut off: its last part is missing."
        case .trailingData: "Something was appended after it had been sealed."
        case .weakKey: "A public key in it is one that keeps nothing secret."
        case .wrongSigner: "It is not signed by whom it should be, or was changed afterwards."
        case .otherSource: "What is sealed is not what it was when sealing began."
        case .ended: "It has come to its end already."
        case .failed(let call): "\(call) failed, perhaps for want of memory."
        }
    }
}

extension SealingError: CustomStringConvertible {
    package var description: String { message }
}
