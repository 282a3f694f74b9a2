/// What the disk has lost. It is kept by path and not with the uploads, because several may stand for one path, and another
/// program may find it while a server runs and holds entries in memory.
extension Catalog {
    /// Whether any file is known to be rotten. Asked often: 3 us.
    package func hasRotten() throws(CatalogError) -> Bool {
        try connections.read { (reader) throws(CatalogError) in try reader.hasRotten() }
    }

    /// What is known to be rotten under a path.
    package func rotten(at path: String) throws(CatalogError) -> RottenFile? {
        try connections.read { (reader) throws(CatalogError) in try reader.rotten(at: path) }
    }

    /// Keeps that files are rotten, all or none, as durably as the catalog is.
    package func add(rotten files: [RottenFile]) throws(CatalogError) {
        guard !files.isEmpty else { return }
        try connections.write { (writer) throws(CatalogError) in try writer.add(rotten: files) }
    }

    /// What stands under these paths is well, or gone.
    package func removeRotten(at paths: [String]) throws(CatalogError) {
        guard !paths.isEmpty else { return }
        try connections.write { (writer) throws(CatalogError) in try writer.removeRotten(at: paths) }
    }
}

extension CatalogReader {
    func hasRotten() throws(CatalogError) -> Bool {
        defer { anyRotten.reset() }
        return try anyRotten.next()
    }

    func rotten(at path: String) throws(CatalogError) -> RottenFile? {
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(CatalogError) in
            rotten.bind(1, text: path)
            defer { rotten.reset() }
            return try rotten.next() ? RottenFile(rotten) : nil
        }
    }
}

extension CatalogWriter {
    func add(rotten files: [RottenFile]) throws(CatalogError) {
        let insert = try Statement(RottenFile.insert, in: database)
        try transaction { () throws(CatalogError) in
            for file in files { try file.write(insert) }
        }
    }

    func removeRotten(at paths: [String]) throws(CatalogError) {
        let delete = try Statement("DELETE FROM rotten WHERE path = ?1", in: database)
        try transaction { () throws(CatalogError) in
            for path in paths {
                try path.utf8.span.withUnsafeBufferPointer { (path) throws(CatalogError) in
                    delete.bind(1, text: path)
                    try delete.run()
                }
            }
        }
    }
}
