package import TransferDatabase
import TransferModel

/// What the disk has lost. It is kept by path, of a file with several names for each, and not with the uploads, because several may stand for one path, and another
/// program may find it while a server runs and holds entries in memory.
extension Catalog {
    /// Whether any file is known to be rotten. Asked often: 3 us.
    package func hasRotten() throws(DatabaseError) -> Bool {
        try connections.read { (reader) throws(DatabaseError) in try reader.hasRotten() }
    }

    /// What is known to be rotten under a path.
    package func rotten(at path: String) throws(DatabaseError) -> RottenFile? {
        try connections.read { (reader) throws(DatabaseError) in try reader.rotten(at: path) }
    }

    /// Keeps that files are rotten, all or none, as durably as the catalog is.
    package func add(rotten files: [RottenFile]) throws(DatabaseError) {
        guard !files.isEmpty else { return }
        try connections.write { (writer) throws(DatabaseError) in try writer.add(rotten: files) }
    }

    /// What stands under these paths is well, or gone.
    package func removeRotten(at paths: [String]) throws(DatabaseError) {
        guard !paths.isEmpty else { return }
        try connections.write { (writer) throws(DatabaseError) in try writer.removeRotten(at: paths) }
    }
}

extension CatalogReader {
    func hasRotten() throws(DatabaseError) -> Bool {
        defer { anyRotten.reset() }
        return try anyRotten.next()
    }

    func rotten(at path: String) throws(DatabaseError) -> RottenFile? {
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
            rotten.bind(1, text: path)
            defer { rotten.reset() }
            return try rotten.next() ? RottenFile(rotten) : nil
        }
    }
}

extension CatalogWriter {
    func add(rotten files: [RottenFile]) throws(DatabaseError) {
        let insert = try Statement(RottenFile.insert, in: database)
        let others = try Statement(RottenFile.insertOthers, in: database)
        // Other names may be among what has arrived.
        if files.contains(where: \.mayHaveOtherNames) { try settle() }
        try transaction { () throws(DatabaseError) in
            for file in files {
                try file.write(insert)
                if file.mayHaveOtherNames { try file.write(others) }
            }
        }
    }

    /// Removes the mark of a file, and of no other that had its path.
    func removeRotten(at path: String, _ file: ContentVersion) throws(DatabaseError) {
        let delete = try Statement(
            "DELETE FROM rotten WHERE path = ?1 AND object = ?2 AND revision = ?3 AND size = ?4", in: database)
        delete.bind(2, Int64(bitPattern: file.object))
        delete.bind(3, file.revision)
        delete.bind(4, Int64(clamping: file.size))
        try run(delete, path)
    }

    func removeRotten(at paths: [String]) throws(DatabaseError) {
        let delete = try Statement("DELETE FROM rotten WHERE path = ?1", in: database)
        try transaction { () throws(DatabaseError) in
            for path in paths {
                try path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
                    delete.bind(1, text: path)
                    try delete.run()
                }
            }
        }
    }
}
