package import TransferModel

/// Entries that were removed together and are in the server's trash.
public struct TrashedBatch: Sendable, Hashable {
    package let batch: TrashBatch

    /// The batch's unique name: a time and a number.
    public var name: String { batch.name }

    /// When the entries were removed, as in RFC 3339.
    public var time: String { batch.time }

    package init(_ batch: TrashBatch) { self.batch = batch }

    /// - Returns: nil if the text is not the name of a batch.
    public init?(_ name: String) {
        guard let batch = TrashBatch(name) else { return nil }
        self.init(batch)
    }
}
