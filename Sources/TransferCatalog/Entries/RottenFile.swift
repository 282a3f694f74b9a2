import TransferDatabase
package import TransferModel
import TransferSystem

/// A stored file that the disk has lost: nobody has changed it, and its content is not what was acknowledged.
package struct RottenFile: Equatable, Sendable {
    package var path: String

    /// The file's when its content was read.
    package var version: ContentVersion

    /// What was acknowledged.
    package var digest: Digest

    /// Whether other paths may have the same file. To find them all uploads are looked through: 0.1 s for a million. So it is false
    /// where the file is known to have one name.
    package var mayHaveOtherNames: Bool

    package init(path: String, version: ContentVersion, digest: Digest, mayHaveOtherNames: Bool = true) {
        self.path = path
        self.version = version
        self.digest = digest
        self.mayHaveOtherNames = mayHaveOtherNames
    }

    /// Whether a file that has the path now is still this one. New permissions or names bring nothing back.
    package func isStill(_ file: ContentVersion) -> Bool {
        version.hasSameContent(as: file)
    }
}

/// How they stand in the table.
extension RottenFile {
    static let insert = """
        INSERT OR REPLACE INTO rotten (path, object, touch, revision, size, algorithm, digest)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        """

    /// Every other path that has an upload of the same file, with what is bound for `insert`. Where that is not the newest upload of the
    /// path, the file may have given way, and what is known of another one stays.
    static let insertOthers = """
        INSERT OR REPLACE INTO rotten (path, object, touch, revision, size, algorithm, digest)
        SELECT DISTINCT path, ?2, ?3, ?4, ?5, ?6, ?7 FROM uploads
        WHERE object = ?2 AND revision = ?4 AND size = ?5 AND path <> ?1
            AND (NOT EXISTS (SELECT 1 FROM rotten AS known WHERE known.path = uploads.path)
                OR number = (SELECT max(number) FROM uploads AS newest WHERE newest.path = uploads.path))
        """

    /// Has a row where there is any.
    static let any = "SELECT 1 FROM rotten LIMIT 1"

    static let select = "SELECT path, object, touch, revision, size, algorithm, digest FROM rotten"

    func write(_ statement: Statement) throws(DatabaseError) {
        statement.bind(2, Int64(bitPattern: version.object))
        statement.bind(3, version.touch)
        statement.bind(4, version.revision)
        statement.bind(5, Int64(clamping: version.size))
        statement.bind(6, Int64(digest.algorithm.rawValue))
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
            statement.bind(1, text: path)
            try digest.bytes.span.bytes.withUnsafeBytes { (digest) throws(DatabaseError) in
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
        let version = ContentVersion(
            object: UInt64(bitPattern: row.integer(1)), revision: row.integer(3), touch: row.integer(2), size: size)
        self.init(path: row.text(0), version: version, digest: digest)
    }
}
