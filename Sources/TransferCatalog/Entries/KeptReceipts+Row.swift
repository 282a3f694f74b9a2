import TransferDatabase
import TransferModel
import TransferPorts

/// The row of receipts in its table: one for all receipts that share a signature.
extension KeptReceipts {
    /// Replaces a row with the same number. A number is only used twice if the catalog was lost.
    static let insert = """
        INSERT OR REPLACE INTO receipts (first, version, time, sender, signature, uploads) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """

    /// The row with the largest number up to the given one.
    static let select = """
        SELECT first, version, time, sender, signature, uploads FROM receipts WHERE first <= ?1
        ORDER BY first DESC LIMIT 1
        """

    func write(_ statement: Statement) throws(RecordsError) {
        statement.bind(1, Int64(clamping: signedBatch.number))
        statement.bind(2, Int64(signedBatch.version))
        statement.bind(3, Int64(clamping: signedBatch.time))
        var ids: [UInt8] = []
        ids.reserveCapacity(uploads.count * UploadID.size)
        for id in uploads { try id.withBytes { ids.append(contentsOf: $0) } }
        try signedBatch.sender.utf8.span.withUnsafeBufferPointer { (sender) throws(RecordsError) in
            statement.bind(4, text: sender)
            try signedBatch.signature.span.bytes.withUnsafeBytes { (signature) throws(RecordsError) in
                statement.bind(5, blob: signature)
                try ids.span.bytes.withUnsafeBytes { (ids) throws(RecordsError) in
                    statement.bind(6, blob: ids)
                    try statement.run()
                }
            }
        }
    }

    /// Reads the current row of the statement.
    ///
    /// - Returns: nil for an invalid row.
    init?(_ row: Statement) {
        guard let number = UInt64(exactly: row.integer(0)), let version = UInt8(exactly: row.integer(1)),
            let time = UInt64(exactly: row.integer(2))
        else { return nil }
        let uploads = row.withBlob(5) { bytes in
            stride(from: 0, to: bytes.count - bytes.count % UploadID.size, by: UploadID.size).compactMap { offset in
                UploadID(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + UploadID.size]))
            }
        }
        let batch = SignedBatch(
            version: version, number: number, time: time, count: uploads.count, signature: row.blob(4),
            sender: row.text(3))
        self.init(batch, uploads: uploads)
    }
}
