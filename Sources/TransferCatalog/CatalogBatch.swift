/// Entries that somebody waits for, while others do for theirs.
final class CatalogBatch: Sendable {
    let entries: [CatalogEntry]

    init(_ entries: [CatalogEntry]) {
        self.entries = entries
    }
}
