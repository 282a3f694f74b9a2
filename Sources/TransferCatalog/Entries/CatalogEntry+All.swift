package import TransferDatabase
package import TransferModel
package import TransferPorts

extension CatalogEntry {
    /// Reads all entries while a server may write them, and changes nothing: first the indexed ones in the order of
    /// their rows, then the arrivals, even those that will replace a row. Entries that cannot be read are left out.
    ///
    /// - Parameter database: a separate connection to a file with the current tables.
    package static func all(in database: Database) throws(RecordsError) -> [CatalogEntry] {
        var entries: [CatalogEntry] = []
        let rows = try Statement("SELECT \(CatalogColumns.names) FROM uploads ORDER BY number", in: database)
        while try rows.next() { if let entry = CatalogColumns.read(rows, from: 0) { entries.append(entry) } }
        let arrivals = try Statement("SELECT entries FROM arrivals ORDER BY number", in: database)
        while try arrivals.next() { entries += arrivals.withBlob(0, CatalogRecord.decode) }
        return entries
    }
}
