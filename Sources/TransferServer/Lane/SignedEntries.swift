import TransferCatalog
import TransferModel
import TransferProtocol

/// Uploads whose receipts have one signature, as they were acknowledged.
struct SignedEntries {
    let frame: Receipts

    /// In the order of their receipts.
    let entries: [CatalogEntry]
}
