/// Entries that somebody waits for, while others do for theirs.
final class CatalogBatch: Sendable {
    let entries: [CatalogEntry]

    /// As they stand in the table of arrivals.
    let bytes: [UInt8]

    init(_ entries: [CatalogEntry]) {
        self.entries = entries
        bytes = CatalogRecord.encode(entries)
    }
}
