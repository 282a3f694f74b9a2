import TransferDatabase
package import TransferModel
package import TransferPorts

/// Marks of rotten files. They are not stored with the uploads, because several uploads may have the same file, and
/// another program may find a rotten file while a server runs and holds entries in memory.
extension Catalog {
    /// Whether any file is known to be rotten. Called often: 3 us.
    package func hasRotten() throws(RecordsError) -> Bool {
        try connections.read { (reader) throws(RecordsError) in try reader.hasRotten() }
    }

    /// The mark of a rotten file; nil for a file that is not known to be rotten.
    package func rotten(_ file: ContentVersion) throws(RecordsError) -> RottenFile? {
        try connections.read { (reader) throws(RecordsError) in try reader.rotten(file) }
    }

    /// Marks files as rotten, all or none, as durably as the catalog is.
    package func add(rotten files: [RottenFile]) throws(RecordsError) {
        guard !files.isEmpty else { return }
        try connections.write { (writer) throws(RecordsError) in try writer.add(rotten: files) }
    }

    /// Removes the marks of files that are sound.
    package func removeRotten(_ files: [ContentVersion]) throws(RecordsError) {
        guard !files.isEmpty else { return }
        try connections.write { (writer) throws(RecordsError) in try writer.removeRotten(files) }
    }
}

extension CatalogReader {
    func hasRotten() throws(RecordsError) -> Bool {
        defer { anyRotten.reset() }
        return try anyRotten.next()
    }

    func rotten(_ file: ContentVersion) throws(RecordsError) -> RottenFile? {
        rotten.bind(content: file)
        defer { rotten.reset() }
        return try rotten.next() ? RottenFile(rotten, of: file) : nil
    }
}

extension CatalogWriter {
    func add(rotten files: [RottenFile]) throws(RecordsError) {
        let insert = try Statement(RottenFile.insert, in: database)
        try transaction { () throws(RecordsError) in for file in files { try file.write(insert) } }
    }

    func removeRotten(_ files: [ContentVersion]) throws(RecordsError) {
        let delete = try Statement(RottenFile.delete, in: database)
        try transaction { () throws(RecordsError) in
            for file in files {
                delete.bind(content: file)
                try delete.run()
            }
        }
    }
}
