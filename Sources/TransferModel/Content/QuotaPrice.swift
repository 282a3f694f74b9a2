/// What things cost a client's quota beside their content, in bytes: what the server's disk has to keep for them. Files and folders of
/// no content would cost nothing otherwise, and could be any number.
package enum QuotaPrice {
    /// A file, folder or link: a block of most file systems, for its inode with its attributes, its name, and the end of content that
    /// fills no block.
    package static let name: UInt64 = 4096

    /// An upload that the server remembers: some 170 bytes without its path, with their part of the indexes.
    private static let row: UInt64 = 256

    /// An upload that the server remembers under a path, which stands in its row and in an index.
    package static func row(_ path: String) -> UInt64 { row + 2 * UInt64(path.utf8.count) }

    /// A file that a client has stored under a path, beside its content.
    package static func file(_ path: String) -> UInt64 { name + row(path) }

    /// An upload that is for somebody, beside its content.
    ///
    /// - Parameter note: bytes that only its recipients can read.
    package static func mail(_ name: String, note: Int) -> UInt64 { file(name) + UInt64(note) }
}
