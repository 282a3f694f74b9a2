package import TransferDatabase
package import TransferModel
package import TransferPorts

extension CatalogEntry {
    /// Reads all entries past the server that writes them, and changes nothing: those that are indexed in the order of their
    /// rows, then what has arrived since, also where it is about to take the place of a row. Entries that cannot be read are
    /// left out.
    ///
    /// - Parameter database: a connection of its own, to a file with today's tables.
    package static func all(in database: Database) throws(RecordsError) -> [CatalogEntry] {
        var entries: [CatalogEntry] = []
        let rows = try Statement("SELECT \(CatalogColumns.names) FROM uploads ORDER BY number", in: database)
        while try rows.next() { if let entry = CatalogColumns.read(rows, from: 0) { entries.append(entry) } }
        let arrivals = try Statement("SELECT entries FROM arrivals ORDER BY number", in: database)
        while try arrivals.next() { entries += arrivals.withBlob(0, CatalogRecord.decode) }
        return entries
    }
}
