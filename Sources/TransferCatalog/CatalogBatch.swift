import Synchronization
internal import TransferModel
import TransferPorts

/// Entries that wait to be recorded. The thread that waits for them records them, or another thread does.
final class CatalogBatch: Sendable {
    let entries: [CatalogEntry]

    /// The entries as the table of arrivals stores them.
    let bytes: [UInt8]

    /// The receipts whose numbers the entries have, stored with them.
    let receipts: KeptReceipts?

    /// Whether any file was known to be rotten when the entries were recorded. Set with the writer's lock held.
    let sawRotten = Atomic(false)

    init(_ entries: [CatalogEntry], receipts: SignedBatch? = nil) {
        self.entries = entries
        self.receipts = receipts.map { signedBatch in
            KeptReceipts(signedBatch, uploads: entries.lazy.filter { $0.receipt != nil }.map(\.id))
        }
        bytes = CatalogRecord.encode(entries)
    }
}
