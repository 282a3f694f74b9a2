package import TransferModel
package import TransferSystem

/// A stored file that the disk has lost: nobody has changed it, and its content is not what was acknowledged.
package struct RottenFile: Equatable, Sendable {
    package var path: String

    /// The file's when its content was read.
    package var identity: FileIdentity

    /// What was acknowledged.
    package var digest: Digest

    package init(path: String, identity: FileIdentity, digest: Digest) {
        self.path = path
        self.identity = identity
        self.digest = digest
    }

    /// Whether a file that has the path now is still this one. New permissions or names, which change the time of change,
    /// bring nothing back.
    package func isStill(_ file: FileIdentity) -> Bool {
        file.inode == identity.inode && file.modified == identity.modified && file.size == identity.size
    }
}

/// How they stand in the table.
extension RottenFile {
    static let insert = """
        INSERT OR REPLACE INTO rotten (path, inode, changed, modified, size, algorithm, digest)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        """

    static let select = "SELECT path, inode, changed, modified, size, algorithm, digest FROM rotten"

    func write(_ statement: Statement) throws(CatalogError) {
        statement.bind(2, Int64(bitPattern: identity.inode))
        statement.bind(3, identity.changed)
        statement.bind(4, identity.modified)
        statement.bind(5, Int64(clamping: identity.size))
        statement.bind(6, Int64(digest.algorithm.rawValue))
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(CatalogError) in
            statement.bind(1, text: path)
            try digest.bytes.span.bytes.withUnsafeBytes { (digest) throws(CatalogError) in
                statement.bind(7, blob: digest)
                try statement.run()
            }
        }
    }

    /// Reads the row that the statement is at.
    ///
    /// - Returns: nothing for a row that cannot be.
    init?(_ row: Statement) {
        guard let size = UInt64(exactly: row.integer(4)), let digest = CatalogColumns.digest(row, 5) ?? nil else {
            return nil
        }
        let identity = FileIdentity(
            inode: UInt64(bitPattern: row.integer(1)), changed: row.integer(2), modified: row.integer(3), size: size)
        self.init(path: row.text(0), identity: identity, digest: digest)
    }
}
