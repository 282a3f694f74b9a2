/// Small facts that all servers of a cluster share, each under a name, in its database.
package struct ClusterNotes: Sendable {
    /// The facts. The names are those of rows, and never change.
    package enum Name: String, Sendable {
        /// The bucket that has the mark of the cluster, as a text for operators.
        case bucket
        /// The public key by which clients know the cluster, 32 bytes.
        case identity
        /// Whether removed and replaced files go to the trash, as a text.
        case trash
        /// The fingerprint of the key that servers show to clients, as a text.
        case shownKey = "shown-key"
        /// Whether `CatalogRebuild` has begun to fill the database, and not ended, as a text.
        case rebuild
    }

    /// The most times that a note is written again because another server has changed it.
    private static let mostAttempts = 16

    private let ledger: any ClusterLedger

    package init(_ ledger: any ClusterLedger) { self.ledger = ledger }

    /// - Returns: nil for a note that was never written.
    package func read(_ name: Name) throws(LedgerError) -> [UInt8]? {
        let content = try row(name).content
        return content.isEmpty ? nil : content
    }

    /// Writes a note in place of an earlier one.
    ///
    /// - Parameter content: at least one byte.
    package func write(_ name: Name, _ content: [UInt8]) throws(LedgerError) {
        try change(name) { $0 == content ? nil : content }
    }

    /// Writes a note unless there is one.
    ///
    /// - Parameter content: at least one byte.
    /// - Returns: the note that all servers have from now on.
    package func claim(_ name: Name, _ content: [UInt8]) throws(LedgerError) -> [UInt8] {
        try change(name) { $0.isEmpty ? content : nil }
    }

    /// Whether `CatalogRebuild` has begun to fill the database, and not ended.
    package func isRebuilding() throws(LedgerError) -> Bool { try read(.rebuild) == Self.begun }

    /// Notes that `CatalogRebuild` begins or has ended.
    func write(isRebuilding: Bool) throws(LedgerError) {
        try write(.rebuild, isRebuilding ? Self.begun : Array("ended".utf8))
    }

    private static let begun = Array("begun".utf8)

    /// - Parameter body: takes the present content, empty for none, and returns the new one; nil to leave it.
    /// - Returns: the content afterwards.
    @discardableResult
    private func change(_ name: Name, _ body: ([UInt8]) -> [UInt8]?) throws(LedgerError) -> [UInt8] {
        for _ in 0..<Self.mostAttempts {
            let row = try row(name)
            guard let content = body(row.content) else { return row.content }
            do throws(LedgerError) {
                try ledger.replace([AccessListRow(name.rawValue, content, revision: row.revision)])
                return content
            } catch {
                guard error.reason == .conflict else { throw error }
            }
        }
        throw LedgerError(.unavailable, "Other servers change the note '\(name.rawValue)' all the time; try again.")
    }

    private func row(_ name: Name) throws(LedgerError) -> AccessListRow {
        guard let row = try ledger.accessLists([name.rawValue]).first else {
            throw LedgerError(.damaged, "The database has not returned the note '\(name.rawValue)'.")
        }
        return row
    }
}
