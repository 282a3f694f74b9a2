package import TransferKeys

/// The reason why a receipt is not accepted.
package enum ReceiptFault: Error, Equatable, Sendable {
    /// The form is not that of a receipt; the text is a phrase.
    case malformed(String)
    /// The version is unknown to this program.
    case unknownVersion
    /// The signature is not by the server or recipient, or the signed text was changed.
    case notSigned
    /// Another server has signed it.
    case otherServer(ServerKey)
    /// Another recipient has signed the delivery receipt.
    case otherRecipient(PublicKey)
    /// The receipt is about another upload; the text is a phrase with the difference.
    case otherUpload(String)
    /// The server has sent no receipt.
    case missing

    /// A phrase for users, without a capital and a full stop.
    package var phrase: String {
        switch self {
        case .malformed(let what): "not a receipt: \(what)"
        case .unknownVersion: "a receipt of a version that this program doesn't know"
        case .notSigned: "not signed by the key that it names, or changed after it was signed"
        case .otherServer(let key): "signed by another server, \(key.fingerprint)"
        case .otherRecipient(let key): "signed by another recipient, \(key.fingerprint)"
        case .otherUpload(let what): "about another upload or delivery: \(what)"
        case .missing: "the server sent none"
        }
    }
}
