import Synchronization
internal import TransferModel
import TransferPorts

/// Entries that somebody waits for, while others do for theirs.
final class CatalogBatch: Sendable {
    let entries: [CatalogEntry]

    /// As they stand in the table of arrivals.
    let bytes: [UInt8]

    /// Those that the entries name, to be kept with them.
    let receipts: KeptReceipts?

    /// Whether any file was known to be rotten when they were recorded; whoever records them has the catalog's lock.
    let sawRotten = Atomic(false)

    init(_ entries: [CatalogEntry], receipts: SignedBatch? = nil) {
        self.entries = entries
        self.receipts = receipts.map { signedBatch in
            KeptReceipts(signedBatch, uploads: entries.lazy.filter { $0.receipt != nil }.map(\.id))
        }
        bytes = CatalogRecord.encode(entries)
    }
}
