import TransferDatabase
import TransferModel
import TransferPorts

/// The row of a rotten file in its table.
extension RottenFile {
    static let insert = """
        INSERT OR REPLACE INTO rotten (object, revision, size, algorithm, digest) VALUES (?1, ?2, ?3, ?4, ?5)
        """

    /// Marks a rotten file again after its times have changed. The mark with the old times stays, because a power cut
    /// may bring the old times back.
    static let insertRestamped = """
        INSERT OR IGNORE INTO rotten (object, revision, size, algorithm, digest)
        SELECT ?4, ?5, size, algorithm, digest FROM rotten WHERE object = ?1 AND revision = ?2 AND size = ?3
        """

    /// Returns a row if there is any mark.
    static let any = "SELECT 1 FROM rotten LIMIT 1"

    static let select = "SELECT algorithm, digest FROM rotten WHERE object = ?1 AND revision = ?2 AND size = ?3"

    static let delete = "DELETE FROM rotten WHERE object = ?1 AND revision = ?2 AND size = ?3"

    /// Marks of files that no upload has any more. This takes 1 s for a million uploads, but not the lock that a server
    /// needs to write.
    static let forgotten = """
        SELECT object, revision, size FROM rotten WHERE (object, revision, size) NOT IN (
            SELECT object, revision, size FROM uploads WHERE object IS NOT NULL AND revision IS NOT NULL)
        """

    func write(_ statement: Statement) throws(RecordsError) {
        statement.bind(content: version)
        statement.bind(4, Int64(digest.algorithm.rawValue))
        try digest.bytes.span.bytes.withUnsafeBytes { (digest) throws(RecordsError) in
            statement.bind(5, blob: digest)
            try statement.run()
        }
    }

    /// Reads the current row of the statement.
    ///
    /// - Returns: nil for an invalid row.
    init?(_ row: Statement, of version: ContentVersion) {
        guard let digest = CatalogColumns.digest(row, 0) ?? nil else { return nil }
        self.init(version: version, digest: digest)
    }
}

extension Statement {
    /// Binds object, revision and size as the first three parameters.
    func bind(content file: ContentVersion) {
        bind(1, Int64(bitPattern: file.object))
        bind(2, file.revision)
        bind(3, Int64(clamping: file.size))
    }
}
