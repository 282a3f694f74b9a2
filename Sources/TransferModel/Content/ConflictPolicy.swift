/// What the server does when the name is taken by other content.
public enum ConflictPolicy: UInt8, Sendable, CaseIterable {
    /// Stores beside it, under a numbered name such as `photo-1.png`.
    case keepBoth = 0
    /// Replaces it.
    case overwrite = 1
    /// Leaves it and stores nothing; the result is `skipped`.
    case skip = 2
    /// Leaves it; the result is `pathConflict`.
    case fail = 3
}
