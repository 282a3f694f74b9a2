import TransferCatalog
import TransferModel
import TransferProtocol

/// Uploads whose receipts have one signature, as they were acknowledged.
struct SignedEntries {
    let seal: BatchSeal

    /// In the order of their receipts.
    let entries: [CatalogEntry]
}
