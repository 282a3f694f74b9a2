/// How many uploads there are in one state, and how large they are together.
package struct CatalogTotals: Equatable, Sendable {
    package var uploads = 0

    /// Of their content; uploads of the same file count it each.
    package var bytes: UInt64 = 0

    package init(uploads: Int = 0, bytes: UInt64 = 0) {
        self.uploads = uploads
        self.bytes = bytes
    }
}
