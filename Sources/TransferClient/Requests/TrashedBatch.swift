package import TransferModel

/// Things that were removed together and are in the server's trash.
public struct TrashedBatch: Sendable, Hashable {
    package let batch: TrashBatch

    /// What tells it from others: a time and a number.
    public var name: String { batch.name }

    /// When it was removed, as in RFC 3339.
    public var time: String { batch.time }

    package init(_ batch: TrashBatch) { self.batch = batch }

    /// - Returns: nothing for a text that names none.
    public init?(_ name: String) {
        guard let batch = TrashBatch(name) else { return nil }
        self.init(batch)
    }
}
