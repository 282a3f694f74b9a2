import TransferDatabase
package import TransferModel

/// Receipts that were signed together, as the catalog keeps them: what they have in common, and whose they are. With the
/// entries of these uploads each of them can be made again.
package struct KeptReceipts: Equatable, Sendable {
    package let signedBatch: SignedBatch

    /// In the order of their numbers.
    package let uploads: [UploadID]

    package init(_ signedBatch: SignedBatch, uploads: [UploadID]) {
        self.signedBatch = signedBatch
        self.uploads = uploads
    }

    /// Whether a receipt is among them.
    ///
    /// - Parameter number: that of the receipt.
    func contain(_ number: UInt64) -> Bool {
        number >= signedBatch.number && number - signedBatch.number < UInt64(uploads.count)
    }
}

/// How they stand in the table: one row for all that have one signature.
extension KeptReceipts {
    /// Over whatever has the number; it is never given twice unless the catalog was lost.
    static let insert = """
        INSERT OR REPLACE INTO receipts (first, version, time, sender, signature, uploads) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """

    /// The row with the largest number up to one.
    static let select = """
        SELECT first, version, time, sender, signature, uploads FROM receipts WHERE first <= ?1
        ORDER BY first DESC LIMIT 1
        """

    func write(_ statement: Statement) throws(DatabaseError) {
        statement.bind(1, Int64(clamping: signedBatch.number))
        statement.bind(2, Int64(signedBatch.version))
        statement.bind(3, Int64(clamping: signedBatch.time))
        var ids: [UInt8] = []
        ids.reserveCapacity(uploads.count * UploadID.size)
        for id in uploads { try id.withBytes { ids.append(contentsOf: $0) } }
        try signedBatch.sender.utf8.span.withUnsafeBufferPointer { (sender) throws(DatabaseError) in
            statement.bind(4, text: sender)
            try signedBatch.signature.span.bytes.withUnsafeBytes { (signature) throws(DatabaseError) in
                statement.bind(5, blob: signature)
                try ids.span.bytes.withUnsafeBytes { (ids) throws(DatabaseError) in
                    statement.bind(6, blob: ids)
                    try statement.run()
                }
            }
        }
    }

    /// Reads the row that the statement is at.
    ///
    /// - Returns: nothing for a row that cannot be.
    init?(_ row: Statement) {
        guard let number = UInt64(exactly: row.integer(0)), let version = UInt8(exactly: row.integer(1)),
            let time = UInt64(exactly: row.integer(2))
        else { return nil }
        uploads = row.withBlob(5) { bytes in
            stride(from: 0, to: bytes.count - bytes.count % UploadID.size, by: UploadID.size).compactMap { offset in
                UploadID(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + UploadID.size]))
            }
        }
        signedBatch = SignedBatch(
            version: version, number: number, time: time, count: uploads.count, signature: row.blob(4),
            sender: row.text(3))
    }
}
