/// The reason why content cannot be sealed or opened.
package enum SealingError: Error, Equatable, Sendable {
    /// The content is not a file of the age format.
    case notSealed
    /// An unsupported form of the format; the text begins a sentence.
    case unsupported(String)
    /// Bytes or a text that the format forbids; the text is a sentence.
    case malformed(String)
    /// A limit is exceeded; the text is a sentence.
    case tooLarge(String)
    /// None of the reader's keys opens the file.
    case notForYou
    /// A chunk was changed or cut off, so that it cannot be authenticated.
    case damaged
    /// The file ends before its last chunk.
    case truncated
    /// Bytes follow the last chunk.
    case trailingData
    /// A public key of low order, with which no secret can be agreed on.
    case weakKey
    /// The signature is by another key than expected, or the content was changed since.
    case wrongSigner
    /// A state belongs to another source or to other recipients.
    case otherSource
    /// The sealer or opener is finished already.
    case ended
    /// A call of a library or the kernel failed that can fail only if memory runs out; the text is the name of the
    /// call.
    case failed(String)
}

extension SealingError {
    /// A sentence for the user.
    package var message: String {
        switch self {
        case .notSealed: "It is not sealed: it does not begin as an age file does."
        case .unsupported(let what): "\(what) cannot be opened here."
        case .malformed(let sentence), .tooLarge(let sentence): sentence
        case .notForYou: "It is sealed for other recipients: none of your keys opens it."
        case .damaged: "It is damaged: it was changed or cut off after it was sealed."
        case .truncated: "It is truncated: its last part is missing."
        case .trailingData: "Data was appended after it was sealed."
        case .weakKey: "A public key in it is weak: it protects no secret."
        case .wrongSigner: "It is not signed by the expected key, or was changed after it was signed."
        case .otherSource: "The file has changed since sealing began."
        case .ended: "The sealed file has ended already."
        case .failed(let call): "\(call) failed, perhaps because memory ran out."
        }
    }
}

extension SealingError: CustomStringConvertible {
    package var description: String { message }
}
