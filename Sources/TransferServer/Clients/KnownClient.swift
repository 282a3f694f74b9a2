import TransferAccess
import TransferCatalog
import TransferModel

/// A client, to find what it has sent.
struct KnownClient: Sendable {
    private let id: UInt64?
    private let name: String

    init(_ grant: Grant) {
        (id, name) = (ClientID.make(grant.source), grant.name)
    }

    /// Older servers have only written the name: then that has to do.
    func hasSent(_ entry: CatalogEntry) -> Bool {
        guard let client = entry.client else { return entry.sender.hasSameBytes(as: name) }
        return client == id
    }
}
