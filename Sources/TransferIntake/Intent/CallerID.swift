package import TransferAccess
import TransferCatalog
import TransferCodec
import TransferKeys
import TransferMail
import TransferModel
package import TransferSystem

/// What tells one client from all others in the catalog: names may be the same, and change.
enum CallerID {
    /// - Returns: nothing for clients that cannot be told apart. The owner's key is the same client when it is in the list.
    static func make(_ source: Grant.Source) -> UInt64? {
        let text: [UInt8]
        switch source {
        case .key(let key), .owner(let key): text = Array("transfer client key ".utf8) + key.raw.bytes
        case .token(let id): text = Array("transfer client token \(id)".utf8)
        case .listener(let name): text = Array("transfer client listener \(name)".utf8)
        case .everyone: return nil
        }
        return text.withUnsafeBytes { bytes in
            BlockHasher.digest(.sha256, bytes).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self).bigEndian }
        }
    }
}

/// A client, to find what it has sent.
struct KnownCaller: Sendable {
    let id: UInt64?
    private let name: String

    init(_ grant: Grant) {
        (id, name) = (CallerID.make(grant.source), grant.name)
    }

    /// Whether it has sent something that is for somebody.
    func hasSent(_ mail: Mail) -> Bool { id != nil && mail.client == id }

    /// Older servers have only written the name: then that has to do.
    func hasSent(_ entry: CatalogEntry) -> Bool { isIt(entry.client, entry.sender) }

    func hasBegun(_ upload: UnfinishedUpload) -> Bool { isIt(upload.client, upload.sender) }

    private func isIt(_ client: UInt64?, _ sender: String) -> Bool {
        guard let client else { return sender.hasSameBytes(as: name) }
        return client == id
    }
}

/// Who pays for work and for places: each client by its key or token, however many connections it has. Those that show
/// nothing can only be told apart by where they come from.
package enum AccountHolder: Hashable, Sendable {
    case client(Grant.Source)
    case network(PeerNetwork)
    case thisMachine
}
