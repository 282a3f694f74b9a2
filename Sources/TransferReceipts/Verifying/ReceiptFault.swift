package import TransferKeys

/// Why something is no good receipt.
package enum ReceiptFault: Error, Equatable, Sendable {
    /// It is not written as a receipt is; what is wrong, as a phrase.
    case malformed(String)
    /// Of a version that this program doesn't know.
    case unknownVersion
    /// The signature is not that of the server, or of the recipient, or what it covers was changed.
    case notSigned
    /// Signed by another server.
    case otherServer(ServerKey)
    /// A delivery receipt that another recipient has signed.
    case otherRecipient(PublicKey)
    /// About another upload; what differs, as a phrase.
    case otherUpload(String)
    /// There is none.
    case missing

    /// For people; no capital at the start and no full stop.
    package var phrase: String {
        switch self {
        case .malformed(let what): "not a receipt: \(what)"
        case .unknownVersion: "a receipt of a version that this program doesn't know"
        case .notSigned: "not signed by the key that it names, or changed since"
        case .otherServer(let key): "signed by another server, \(key.fingerprint)"
        case .otherRecipient(let key): "signed by another recipient, \(key.fingerprint)"
        case .otherUpload(let what): "about something else: \(what)"
        case .missing: "the server sent none"
        }
    }
}
