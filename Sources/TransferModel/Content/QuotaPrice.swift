/// Bytes that entries cost a client's quota in addition to their content, as much as the server's disk needs for them.
/// Without this price, any number of empty files and folders would be free.
package enum QuotaPrice {
    /// Bytes for a file, folder or link: one block on most file systems, for its inode with attributes, its name, and
    /// the last partial block of content.
    package static let name: UInt64 = 4096

    /// Bytes for a row of the catalog: some 170 without its path, and its share of the indexes.
    private static let row: UInt64 = 256

    /// Bytes for a row of the catalog with its path, which is in the row and in an index.
    package static func row(_ path: String) -> UInt64 { row + 2 * UInt64(path.utf8.count) }

    /// Bytes for rows of the catalog.
    ///
    /// - Parameter pathBytes: the bytes of all their paths.
    package static func rows(_ count: UInt64, pathBytes: UInt64) -> UInt64 {
        let (bytes, overflow) = count.multipliedReportingOverflow(by: row)
        return overflow ? .max : bytes.addingClamped(pathBytes).addingClamped(pathBytes)
    }

    /// Bytes for a stored file in addition to its content.
    package static func file(_ path: String) -> UInt64 { name + row(path) }

    /// Bytes for a delivery in addition to its content.
    ///
    /// - Parameter note: bytes of the note of a sealed upload.
    package static func mail(_ name: String, note: Int) -> UInt64 { file(name) + UInt64(note) }
}
