import TransferDatabase

/// Identifies the place of a server's directory by its mark file and its catalog file. Every copy of the directory has another mark,
/// because no program can set a file's time of change (ctime). A remount, a move within the file system and an image of the disk keep the
/// mark: they keep inode numbers and times of change.
package struct DirectoryHome: Equatable, Sendable {
    /// What is in the mark: a random number, another one for each directory.
    package let token: UInt64

    /// The mark's number and its time of change, as in `ContentVersion`.
    package let object: UInt64
    package let touch: Int64

    /// The number of the catalog's file: one of yesterday that was put in the place of today's has another.
    package let catalog: UInt64

    package init(token: UInt64, object: UInt64, touch: Int64, catalog: UInt64) {
        (self.token, self.object, self.touch, self.catalog) = (token, object, touch, catalog)
    }
}

/// A home as the catalog knows it.
package struct KnownHome: Equatable, Sendable {
    package let home: DirectoryHome

    /// Whether files of a copied directory have yet to be adopted.
    package let isAdopting: Bool

    package init(_ home: DirectoryHome, isAdopting: Bool) { (self.home, self.isAdopting) = (home, isAdopting) }
}

/// How it stands in the table.
extension KnownHome {
    static let select = "SELECT token, object, touch, catalog, adopting FROM home LIMIT 1"

    /// Reads the row that the statement is at.
    init(_ row: Statement) {
        self.init(
            DirectoryHome(
                token: UInt64(bitPattern: row.integer(0)), object: UInt64(bitPattern: row.integer(1)),
                touch: row.integer(2), catalog: UInt64(bitPattern: row.integer(3))),
            isAdopting: row.integer(4) != 0)
    }

    func write(in database: Database) throws(DatabaseError) {
        let insert = try Statement(
            "INSERT INTO home (token, object, touch, catalog, adopting) VALUES (?1, ?2, ?3, ?4, ?5)", in: database)
        insert.bind(1, Int64(bitPattern: home.token))
        insert.bind(2, Int64(bitPattern: home.object))
        insert.bind(3, home.touch)
        insert.bind(4, Int64(bitPattern: home.catalog))
        insert.bind(5, isAdopting ? 1 : 0)
        try insert.run()
    }
}
