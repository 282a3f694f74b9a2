import Synchronization
internal import TransferModel
import TransferPorts

/// Entries that one thread records and waits for; another thread may record them for it.
final class CatalogBatch: Sendable {
    let entries: [CatalogEntry]

    /// The entries as they are stored in the table of arrivals.
    let bytes: [UInt8]

    /// The receipts whose numbers the entries have, stored with them.
    let receipts: KeptReceipts?

    /// Whether any file was known to be rotten when the entries were recorded. Set by the thread that has the catalog's
    /// lock.
    let sawRotten = Atomic(false)

    init(_ entries: [CatalogEntry], receipts: SignedBatch? = nil) {
        self.entries = entries
        self.receipts = receipts.map { signedBatch in
            KeptReceipts(signedBatch, uploads: entries.lazy.filter { $0.receipt != nil }.map(\.id))
        }
        bytes = CatalogRecord.encode(entries)
    }
}
