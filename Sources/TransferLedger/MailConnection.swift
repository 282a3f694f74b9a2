import TransferDatabase
import TransferModel
import TransferPorts

/// The connection of a ledger, with its prepared statements.
///
/// `@unchecked Sendable`: only used while the ledger's lock is held.
final class MailConnection: @unchecked Sendable {
    let database: Database
    /// The file that `database` is open on.
    var file: DatabaseFile.Number?
    private let clock: @Sendable () -> Int64
    /// The time of the ledger's own clock when `clock` was `opened`.
    private let base: Int64
    private let opened: Int64
    private let begin: Statement
    private let beginReading: Statement
    private let endReading: Statement
    private let commit: Statement
    private let insertMail: Statement
    private let updateMail: Statement
    private let findMail: Statement
    private let deliveriesOfMail: Statement
    private let insertDelivery: Statement
    private let deleteDelivery: Statement
    private let setState: Statement
    private let setFetched: Statement
    private let findDelivery: Statement
    private let inbox: Statement
    private let allOfInbox: Statement
    private let sent: Statement
    private let openOfMail: Statement
    private let newest: Statement
    /// Whether transactions are synced now.
    private var isSyncing = true

    /// The most mails that one transaction forgets, which limits how long it holds the lock.
    static let rowsAtOnce: Int64 = 256

    /// - Parameter clock: nanoseconds of a clock that is never set.
    init(_ database: Database, _ clock: @escaping @Sendable () -> Int64) throws(RecordsError) {
        (self.database, self.clock, opened) = (database, clock, clock())
        base = min(max(0, try database.execute("SELECT now FROM clock") ?? 0), .max / 2)
        begin = try Statement("BEGIN IMMEDIATE", in: database)
        beginReading = try Statement("BEGIN", in: database)
        endReading = try Statement("COMMIT", in: database)
        commit = try Statement("COMMIT", in: database, kind: .commit)
        insertMail = try Statement(MailColumns.insert, in: database)
        updateMail = try Statement(MailColumns.update, in: database)
        findMail = try Statement(MailColumns.selectMail(where: "m.id = ?1"), in: database)
        deliveriesOfMail = try Statement(MailColumns.select(where: "m.id = ?1 ORDER BY d.number"), in: database)
        insertDelivery = try Statement(
            "INSERT INTO deliveries (mail, recipient, state, changed, since) VALUES (?1, ?2, 1, ?3, ?4)", in: database)
        deleteDelivery = try Statement("DELETE FROM deliveries WHERE number = ?1", in: database)
        setState = try Statement(
            "UPDATE deliveries SET state = ?2, changed = ?3, receipt = coalesce(?4, receipt), since = ?5 WHERE number = ?1",
            in: database)
        setFetched = try Statement(
            "UPDATE deliveries SET state = 2, changed = ?2, since = ?3 WHERE number = ?1 AND state = 1 RETURNING 1",
            in: database)
        findDelivery = try Statement(
            MailColumns.select(where: "m.id = ?1 AND d.recipient = ?2"), in: database)
        inbox = try Statement(
            MailColumns.select(where: "d.recipient = ?1 AND d.number > ?2 AND d.state < 3 ORDER BY d.number LIMIT ?3"),
            in: database)
        allOfInbox = try Statement(
            MailColumns.select(where: "d.recipient = ?1 AND d.number > ?2 ORDER BY d.number LIMIT ?3"), in: database)
        sent = try Statement(
            MailColumns.select(where: "m.sender = ?1 AND d.number > ?2 ORDER BY d.number LIMIT ?3"), in: database)
        openOfMail = try Statement(
            """
            SELECT 1 FROM deliveries WHERE mail = (SELECT mail FROM deliveries WHERE number = ?1) AND state < 3 LIMIT 1
            """,
            in: database)
        newest = try Statement("SELECT max(seq) FROM sqlite_sequence WHERE name = 'deliveries'", in: database)
    }

    /// Runs `body` in a transaction. The file stays consistent even if not every transaction is synced
    /// (sqlite.org/pragma.html#pragma_synchronous).
    ///
    /// - Parameter isSynced: whether the transaction is as durable as the database was opened for.
    func transaction<T>(isSynced: Bool, _ body: () throws(RecordsError) -> T) throws(RecordsError) -> T {
        if isSynced != isSyncing {
            try database.execute("PRAGMA synchronous = \(isSynced ? "FULL" : "NORMAL")")
            isSyncing = isSynced
        }
        try begin.run()
        do throws(RecordsError) {
            let result = try body()
            try commit.run()
            database.calls.committed?(isSynced)
            return result
        } catch {
            // Some failures have already rolled the transaction back. If this rollback fails too, the connection has to
            // be closed.
            if database.isInTransaction { _ = try? database.execute("ROLLBACK") }
            throw error
        }
    }
}

extension MailConnection {
    /// Reads several things from one state of the ledger, which is locked once.
    func together<T>(_ body: () throws(RecordsError) -> T) throws(RecordsError) -> T {
        try beginReading.run()
        do throws(RecordsError) {
            let result = try body()
            try endReading.run()
            return result
        } catch {
            if database.isInTransaction { _ = try? database.execute("ROLLBACK") }
            throw error
        }
    }
}

// MARK: Time

/// The ledger's own clock measures how long something waits; it runs only while a server has the ledger open. The
/// machine's clock may be set, even by years, and because of that mail must neither expire nor stay for ever.
extension MailConnection {
    /// Nanoseconds for which the ledger was open.
    var now: Int64 { base &+ max(0, clock() &- opened) }

    /// Stores the time of the ledger's clock.
    func keepTime() throws(RecordsError) { try database.execute("UPDATE clock SET now = \(now)") }
}

// MARK: Mails

extension MailConnection {
    /// The mail with an id, and its number.
    func find(_ id: UploadID) throws(RecordsError) -> (mail: Mail, number: Int64)? {
        try findMail.with(texts: [], blobs: [(1, id.bytes)]) { (row) throws(RecordsError) in
            defer { row.reset() }
            guard try row.next(), let mail = MailColumns.mail(row) else { return nil }
            return (mail, row.integer(MailColumns.number))
        }
    }

    /// - Returns: the number of the mail.
    func insert(_ mail: Mail) throws(RecordsError) -> Int64 {
        try write(mail, insertMail)
        return try database.execute("SELECT last_insert_rowid()") ?? 0
    }

    func update(_ mail: Mail) throws(RecordsError) { try write(mail, updateMail) }

    private func write(_ mail: Mail, _ statement: Statement) throws(RecordsError) {
        MailColumns.bind(mail, to: statement)
        statement.bind(16, now)
        try statement.with(
            texts: [(2, mail.sender), (4, mail.name), (13, mail.path.string)],
            blobs: [(1, mail.id.bytes), (8, mail.digest.bytes), (12, mail.note)]
        ) { (statement) throws(RecordsError) in try statement.run() }
    }

    func noteRotten(_ id: UploadID) throws(RecordsError) {
        let update = try Statement("UPDATE mails SET rotten = 1 WHERE id = ?1", in: database)
        try update.with(texts: [], blobs: [(1, id.bytes)]) { (statement) throws(RecordsError) in try statement.run() }
    }

    /// Whether any recipient can still receive the mail of a delivery.
    func isMailOpen(of delivery: UInt64) throws(RecordsError) -> Bool {
        openOfMail.bind(1, Int64(clamping: delivery))
        defer { openOfMail.reset() }
        return try openOfMail.next()
    }
}

// MARK: Deliveries

extension MailConnection {
    func deliveries(of id: UploadID) throws(RecordsError) -> [Delivery] {
        try deliveriesOfMail.with(texts: [], blobs: [(1, id.bytes)]) { (row) throws(RecordsError) in try all(row) }
    }

    func delivery(of id: UploadID, to recipient: String) throws(RecordsError) -> Delivery? {
        try findDelivery.with(texts: [(2, recipient)], blobs: [(1, id.bytes)]) { (row) throws(RecordsError) in
            try all(row).first
        }
    }

    /// - Parameter number: the number of the mail.
    func queue(_ number: Int64, to recipient: String, at moment: Int64) throws(RecordsError) {
        insertDelivery.bind(1, number)
        insertDelivery.bind(3, moment)
        insertDelivery.bind(4, now)
        try insertDelivery.with(texts: [(2, recipient)]) { (row) throws(RecordsError) in try row.run() }
    }

    func delete(delivery number: UInt64) throws(RecordsError) {
        deleteDelivery.bind(1, Int64(clamping: number))
        try deleteDelivery.run()
    }

    /// - Parameter receipt: the receipt to store; nil keeps the stored one.
    func set(
        _ state: DeliveryState, of number: UInt64, at moment: Int64, receipt: [UInt8]? = nil
    ) throws(RecordsError) {
        setState.bind(1, Int64(clamping: number))
        setState.bind(2, Int64(state.rawValue))
        setState.bind(3, moment)
        setState.bind(5, now)
        try setState.with(texts: [], blobs: [(4, receipt)]) { (row) throws(RecordsError) in try row.run() }
    }

    /// Marks a queued delivery as fetched by its recipient.
    ///
    /// - Returns: false if the delivery was marked before.
    func fetched(_ number: UInt64, at moment: Int64) throws(RecordsError) -> Bool {
        setFetched.bind(1, Int64(clamping: number))
        setFetched.bind(2, moment)
        setFetched.bind(3, now)
        defer { setFetched.reset() }
        return try setFetched.next()
    }

    /// The deliveries for a recipient, in the order of their numbers; empty only at the end.
    func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(RecordsError) -> [Delivery] {
        try page(withEnded ? allOfInbox : inbox, of: recipient, after: number, limit)
    }

    /// The deliveries from a sender, in the order of their numbers; empty only at the end.
    func sent(by sender: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery] {
        try page(sent, of: sender, after: number, limit)
    }

    /// The largest number that any delivery has had, including forgotten ones.
    func newestNumber() throws(RecordsError) -> UInt64 {
        defer { newest.reset() }
        return try newest.next() ? UInt64(clamping: newest.integer(0)) : 0
    }

    private func page(
        _ statement: Statement, of name: String, after number: UInt64, _ limit: Int
    ) throws(RecordsError) -> [Delivery] {
        var last = Int64(clamping: number)
        while true {
            statement.bind(2, last)
            statement.bind(3, Int64(limit))
            let (found, count) = try statement.with(texts: [(1, name)]) { (rows) throws(RecordsError) in
                try page(rows, &last)
            }
            guard found.isEmpty, count == limit else { return found }
        }
    }

    /// - Parameter last: set to the number of the last row, valid or not.
    /// - Returns: the deliveries, and the number of rows.
    private func page(_ rows: Statement, _ last: inout Int64) throws(RecordsError) -> (found: [Delivery], count: Int) {
        defer { rows.reset() }
        var (found, count): ([Delivery], Int) = ([], 0)
        while try rows.next() {
            count += 1
            last = rows.integer(MailColumns.deliveryNumber)
            if let delivery = MailColumns.delivery(rows) { found.append(delivery) }
        }
        return (found, count)
    }

    /// Leaves out rows that are invalid.
    func all(_ rows: Statement) throws(RecordsError) -> [Delivery] {
        defer { rows.reset() }
        var found: [Delivery] = []
        while try rows.next() {
            if let delivery = MailColumns.delivery(rows) { found.append(delivery) }
        }
        return found
    }
}

// MARK: Totals, expiry and forgetting

extension MailConnection {
    func totals() throws(RecordsError) -> MailTotals {
        var totals = MailTotals()
        let rows = try Statement(
            """
            SELECT m.sender, d.recipient, m.size, m.unproven FROM deliveries d JOIN mails m ON m.number = d.mail WHERE d.state < 3
            """, in: database)
        defer { rows.reset() }
        while try rows.next() {
            let sender = MailSender(rows.text(0), isUnproven: rows.integer(3) != 0)
            totals.add(UInt64(clamping: rows.integer(2)), from: sender, to: rows.text(1))
        }
        let mails = try Statement(
            """
            SELECT client, size, name, length(note) FROM mails m WHERE client IS NOT NULL AND EXISTS
            (SELECT 1 FROM deliveries d WHERE d.mail = m.number AND d.state < 3)
            """, in: database)
        defer { mails.reset() }
        while try mails.next() {
            let price = QuotaPrice.mail(mails.text(2), note: max(0, Int(clamping: mails.integer(3))))
            let cost = UInt64(clamping: mails.integer(1)).addingClamped(price)
            totals.open(cost, from: UInt64(bitPattern: mails.integer(0)))
        }
        return totals
    }

    /// Some of the deliveries that wait and were queued before a moment of the ledger's own clock.
    func overdue(before moment: Int64, limit: Int) throws(RecordsError) -> [Delivery] {
        let rows = try Statement(
            MailColumns.select(where: "d.state < 3 AND d.since < \(moment) AND m.since < \(moment) LIMIT \(limit)"),
            in: database)
        return try all(rows)
    }

    /// Forgets some of the mails whose deliveries all ended before a moment of the ledger's own clock.
    ///
    /// - Returns: whether there may be more.
    func forget(endedBefore moment: Int64) throws(RecordsError) -> Bool {
        try database.execute(
            """
            DELETE FROM mails WHERE number IN (
                SELECT number FROM mails WHERE since < \(moment) AND NOT EXISTS
                (SELECT 1 FROM deliveries d WHERE d.mail = mails.number AND (d.state < 3 OR d.since >= \(moment)))
                LIMIT \(Self.rowsAtOnce))
            """)
        return try database.execute("SELECT changes()") ?? 0 >= Self.rowsAtOnce
    }

    /// The paths of content that a recipient can still receive.
    func openPaths() throws(RecordsError) -> Set<RelativePath> {
        let rows = try Statement(
            "SELECT path FROM mails m WHERE EXISTS (SELECT 1 FROM deliveries d WHERE d.mail = m.number AND d.state < 3)",
            in: database)
        defer { rows.reset() }
        var paths: Set<RelativePath> = []
        while try rows.next() {
            if let path = RelativePath(mail: rows.text(0)) { paths.insert(path) }
        }
        return paths
    }
}
