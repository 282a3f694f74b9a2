import TransferDatabase
import TransferModel
import TransferPorts

/// The rows of mails and deliveries.
enum MailColumns {
    static let insert = """
        INSERT INTO mails (id, sender, client, name, kind, size, algorithm, digest, modified, nanoseconds, permissions, note,
            path, queued, unproven, since)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        """

    /// Replaces a mail that is stored again, after all its deliveries had ended or its content was lost.
    static let update = """
        UPDATE mails SET sender = ?2, client = ?3, name = ?4, kind = ?5, size = ?6, algorithm = ?7, digest = ?8,
            modified = ?9, nanoseconds = ?10, permissions = ?11, note = ?12, path = ?13, queued = ?14,
            unproven = ?15, since = ?16, rotten = 0
        WHERE id = ?1
        """

    /// Columns of a mail `m`; those of a delivery `d` follow.
    private static let mail = """
        m.id, m.sender, m.client, m.name, m.kind, m.size, m.algorithm, m.digest, m.modified, m.nanoseconds, m.permissions,
        m.note, m.path, m.queued, m.number, m.unproven,
        m.rotten
        """
    private static let delivery = "d.number, d.recipient, d.state, d.changed, d.receipt"

    static func select(where condition: String) -> String {
        "SELECT \(mail), \(delivery) FROM deliveries d JOIN mails m ON m.number = d.mail WHERE \(condition)"
    }

    static func selectMail(where condition: String) -> String { "SELECT \(mail) FROM mails m WHERE \(condition)" }

    /// The column with a mail's number.
    static let number: Int32 = 14

    /// The column with a delivery's number.
    static let deliveryNumber: Int32 = 17

    static func bind(_ mail: Mail, to statement: Statement) {
        statement.bind(3, mail.client.map { Int64(bitPattern: $0) })
        statement.bind(5, Int64(mail.kind.rawValue))
        statement.bind(6, Int64(clamping: mail.size))
        statement.bind(7, Int64(mail.digest.algorithm.rawValue))
        statement.bind(9, mail.modified?.seconds)
        statement.bind(10, mail.modified.map { Int64($0.nanoseconds) })
        statement.bind(11, mail.permissions.map { Int64($0) })
        statement.bind(14, mail.queued)
        statement.bind(15, mail.isUnproven ? 1 : 0)
    }

    /// - Returns: nil for an invalid row.
    static func mail(_ row: Statement) -> Mail? {
        guard let id = row.uploadID(0), let kind = UInt8(exactly: row.integer(4)),
            let size = UInt64(exactly: row.integer(5)),
            let number = UInt8(exactly: row.integer(6)), let algorithm = DigestAlgorithm(rawValue: number),
            let path = RelativePath(mail: row.text(12))
        else { return nil }
        let digest = row.blob(7)
        guard digest.count == algorithm.function.size else { return nil }
        let modified = row.optionalInteger(8).flatMap { seconds in
            UInt32(exactly: row.integer(9)).map { Timestamp(seconds: seconds, nanoseconds: $0) }
        }
        return Mail(
            id: id, sender: row.text(1), client: row.optionalInteger(2).map { UInt64(bitPattern: $0) },
            name: row.text(3),
            kind: ContentKind(rawValue: kind) ?? .file, size: size, digest: Digest(algorithm, digest),
            modified: modified,
            permissions: row.optionalInteger(10).flatMap { UInt16(exactly: $0) },
            note: row.isNull(11) ? nil : row.blob(11), path: path, queued: row.integer(13),
            isUnproven: row.integer(15) != 0,
            isRotten: row.integer(16) != 0)
    }

    /// - Returns: nil for an invalid row.
    static func delivery(_ row: Statement) -> Delivery? {
        guard let mail = mail(row), let number = UInt64(exactly: row.integer(deliveryNumber)),
            let state = UInt8(exactly: row.integer(19)).flatMap(DeliveryState.init)
        else { return nil }
        return Delivery(
            number: number, mail: mail, recipient: row.text(18), state: state, changed: row.integer(20),
            receipt: row.isNull(21) ? nil : row.blob(21))
    }
}

extension Statement {
    func uploadID(_ column: Int32) -> UploadID? {
        withBlob(column) { $0.count == UploadID.size ? UploadID($0.bytes, at: 0) : nil }
    }

    /// Calls `body` with texts and blobs bound, whose memory stays valid during the call.
    func with<R>(
        texts: ArraySlice<(Int32, String)> = [], blobs: ArraySlice<(Int32, [UInt8]?)> = [],
        _ body: (Statement) throws(RecordsError) -> R
    ) throws(RecordsError) -> R {
        if let (index, text) = texts.first {
            return try text.utf8.span.withUnsafeBufferPointer { (bytes) throws(RecordsError) in
                bind(index, text: bytes)
                return try with(texts: texts.dropFirst(), blobs: blobs, body)
            }
        }
        guard let (index, blob) = blobs.first else { return try body(self) }
        guard let blob else {
            bind(index, nil as Int64?)
            return try with(blobs: blobs.dropFirst(), body)
        }
        return try blob.span.bytes.withUnsafeBytes { (bytes) throws(RecordsError) in
            bind(index, blob: bytes)
            return try with(blobs: blobs.dropFirst(), body)
        }
    }
}

extension UploadID {
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        encode(into: &bytes)
        return bytes
    }
}
