package import TransferDatabase
package import TransferModel
package import TransferPorts
import TransferSystem

/// The records of mailboxes: which mail waits for whom, and what became of it, in a database beside the catalog. Its
/// content is part of what is acknowledged, so a damaged ledger is never replaced. Synchronous and safe to call from
/// any thread.
package final class MailLedger: MailRecords {
    private struct State {
        var connection: MailConnection?
        /// Whether the ledger has had content, so that a missing file was lost.
        var mustExist: Bool
        /// Whether the file was removed or replaced. After that, no other file is opened: the log beside it belongs to
        /// the original one.
        var isReplaced = false
        /// Whether the server has stopped.
        var isClosed = false
        /// Totals of the open deliveries.
        var totals = MailTotals()
    }

    /// The name of the database in the server's own folder.
    package static let fileName = "mail.sqlite"

    /// KiB of pages that the connection caches.
    private static let cacheSize = 4096

    /// Bytes up to which the whole file is checked at the start.
    private static let wholeCheckSize: Int64 = 64 << 20

    private let state: Locked<State>
    private let file: DatabaseFile
    private let clock: @Sendable () -> Int64

    /// Opens the ledger. The file is made if it is missing.
    ///
    /// - Parameters:
    ///   - path: the path of the database; its directory must exist.
    ///   - isDurable: whether what it records has to survive a crash of the machine.
    ///   - mustExist: whether there is content whose recipients only the ledger knows. In that case a missing or empty
    ///     file was lost, and if a new one were made, that content would be removed.
    ///   - clock: nanoseconds of a clock that is never set.
    /// - Throws: `damaged` also for a file that was lost.
    package init(
        path: String, isDurable: Bool, mustExist: Bool = false, calls: DatabaseCalls = DatabaseCalls(),
        clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds
    ) throws(RecordsError) {
        file = DatabaseFile(path: path, called: MailSchema.name, isDurable: isDurable, calls: calls)
        state = Locked(State(mustExist: mustExist))
        self.clock = clock
        try state.withLock { (state) throws(RecordsError) in
            do throws(RecordsError) {
                let connection = try connect(&state)
                try file.validate(connection.database, wholeCheckSize: Self.wholeCheckSize)
            } catch  where error.reason == .busy {
                // Another program reads the file, perhaps to make a backup. The next call tries again.
            }
        }
    }

    /// Opens the file. Its content may have been written by a server that was killed or whose sync failed, so the log
    /// is written back and synced before anything is read.
    private func connect(_ state: inout State) throws(RecordsError) -> MailConnection {
        guard !state.isReplaced else { throw .replaced(file.path) }
        guard !state.isClosed else {
            throw RecordsError(.unavailable, "The \(MailSchema.name) is closed: the server has stopped.")
        }
        if let connection = state.connection { return connection }
        let database = try file.open(cacheSize: Self.cacheSize, mustExist: state.mustExist)
        if state.mustExist { try MailSchema.schema.requireSome(database) }
        try MailSchema.schema.migrate(database)
        guard try database.execute("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
            throw RecordsError(.busy, "Another program holds the \(MailSchema.name).")
        }
        let connection = try MailConnection(database, clock)
        guard let number = file.number else { throw .replaced(file.path) }
        connection.file = number
        state.totals = try connection.totals()
        (state.connection, state.mustExist) = (connection, true)
        return connection
    }

    /// Closes the ledger for good: once the server has released the directory, another server may open it.
    package func close() {
        state.withLock { state in
            try? state.connection?.keepTime()
            (state.connection, state.isClosed) = (nil, true)
        }
    }

    func read<T: Sendable>(_ body: (MailConnection) throws(RecordsError) -> T) throws(RecordsError) -> T {
        try read { (connection, _) throws(RecordsError) in try body(connection) }
    }

    func read<T: Sendable>(
        _ body: (MailConnection, MailTotals) throws(RecordsError) -> T
    ) throws(RecordsError) -> T {
        try state.withLock { (state) throws(RecordsError) in
            try attempt(&state) { (connection, totals) throws(RecordsError) in try body(connection, totals) }
        }
    }

    /// Runs `body` in a transaction: either all of it is done, as durably as the ledger is, or nothing.
    ///
    /// - Parameters:
    ///   - isSynced: whether any promise depends on the transaction.
    ///   - body: also changes the totals, which count when the transaction is committed.
    func write<T: Sendable>(
        isSynced: Bool = true, _ body: (MailConnection, inout MailTotals) throws(RecordsError) -> T
    ) throws(RecordsError) -> T {
        try state.withLock { (state) throws(RecordsError) in
            try attempt(&state) { (connection, totals) throws(RecordsError) in
                guard file.number == connection.file else { throw .replaced(file.path) }
                var changed = totals
                let result = try connection.transaction(isSynced: isSynced || !file.isDurable) {
                    () throws(RecordsError) in try body(connection, &changed)
                }
                // Bytes that were written to a file without a name are lost when it is closed.
                guard file.number == connection.file else { throw .replaced(file.path) }
                totals = changed
                return result
            }
        }
    }

    /// Closes a connection that has failed: only a new connection shows whether the last transaction counts.
    private func attempt<T>(
        _ state: inout State, _ body: (MailConnection, inout MailTotals) throws(RecordsError) -> T
    ) throws(RecordsError) -> T {
        let connection = try connect(&state)
        do throws(RecordsError) {
            return try body(connection, &state.totals)
        } catch {
            state.connection = nil
            state.isReplaced = file.number != connection.file
            throw error
        }
    }

    /// The deliveries that wait for one person; nil for all.
    package func waiting(for recipient: String? = nil) -> (count: Int, bytes: UInt64) {
        state.withLock { state in
            let total = recipient.map(state.totals.total) ?? state.totals.all
            return (total.count, total.bytes)
        }
    }

    /// Why one more delivery to a recipient is refused; nil if there is room for it.
    package func refusal(_ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits)
        -> MailRefusal?
    {
        state.withLock { $0.totals.refusal(size, from: sender, to: recipient, limits) }
    }
}

extension RecordsError {
    fileprivate static func replaced(_ path: String) -> RecordsError {
        RecordsError(
            .damaged, "The \(MailSchema.name), '\(path)', was removed or replaced while the server works with it.")
    }
}

extension MailLedger {
    /// Puts mails into mailboxes, in one transaction. A person receives an upload once: if the upload waits already or
    /// was received, nothing changes. If it was declined or has expired, it waits again.
    ///
    /// - Parameter isThere: whether there is still content at a path.
    /// - Returns: the result for each mail, in order.
    package func queue(
        _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits, isThere: (RelativePath) -> Bool
    ) throws(RecordsError) -> [QueuedMail] {
        try write { (connection, totals) throws(RecordsError) in
            var queued: [QueuedMail] = []
            for (mail, recipients) in mails {
                queued.append(try Self.queue(mail, recipients, limits, isThere, connection, &totals))
            }
            return queued
        }
    }

    private static func queue(
        _ mail: Mail, _ recipients: [String], _ limits: MailLimits, _ isThere: (RelativePath) -> Bool,
        _ connection: MailConnection, _ totals: inout MailTotals
    ) throws(RecordsError) -> QueuedMail {
        let known = try connection.find(mail.id)
        let deliveries = known == nil ? [] : try connection.deliveries(of: mail.id)
        // The server treats all that a client sends under one id as one upload.
        let found = Dictionary(deliveries.map { (PathKey($0.recipient), $0) }) { first, _ in first }
        var named: Set<PathKey> = []
        let fresh = recipients.filter { name in
            guard named.insert(PathKey(name)).inserted else { return false }
            return found[PathKey(name)].map { $0.state == .declined || $0.state == .expired } ?? true
        }
        if let known, !known.mail.mayBe(mail), deliveries.contains(where: { $0.state.isOpen || $0.state == .delivered })
        {
            return .refused(.otherContent)
        }
        for name in fresh {
            if let refusal = totals.refusal(mail.size, from: mail.from, to: name, limits) { return .refused(refusal) }
        }
        let isOpen = deliveries.contains { $0.state.isOpen }
        let isGood =
            known.map { isOpen && $0.mail.digest == mail.digest && !$0.mail.isRotten && isThere($0.mail.path) } ?? false
        guard !fresh.isEmpty || isOpen else { return .queued(fresh: [], isKept: false, freed: nil) }
        let number: Int64
        if let known {
            number = known.number
            if !isGood { try connection.update(mail) }
        } else {
            number = try connection.insert(mail)
        }
        if isOpen, !isGood, let known {
            totals.close(known.mail.cost, from: known.mail.client)
            // The new mail may come from the same client under another name.
            for delivery in deliveries where delivery.state.isOpen {
                totals.remove(known.mail.size, from: known.mail.from, to: delivery.recipient)
                totals.add(mail.size, from: mail.from, to: delivery.recipient)
            }
        }
        if !isOpen || !isGood { totals.open(mail.cost, from: mail.client) }
        let sender = isGood ? known?.mail.from ?? mail.from : mail.from
        for name in fresh {
            if let ended = found[PathKey(name)] { try connection.delete(delivery: ended.number) }
            try connection.queue(number, to: name, at: mail.queued)
            totals.add(mail.size, from: sender, to: name)
        }
        return .queued(fresh: fresh, isKept: !isGood, freed: isGood ? nil : known?.mail)
    }

    /// The deliveries of an upload that was queued before, in any state.
    package func deliveries(of id: UploadID) throws(RecordsError) -> [Delivery] {
        try read { (connection) throws(RecordsError) in try connection.deliveries(of: id) }
    }
}

extension Mail {
    /// Whether another mail can have the same content, as far as sizes and digests show.
    fileprivate func mayBe(_ other: Mail) -> Bool {
        size == other.size && (digest.algorithm != other.digest.algorithm || digest == other.digest)
    }
}

extension MailLedger {
    /// The deliveries for a recipient, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - number: the number after which the deliveries begin; those up to it are left out.
    ///   - limit: the most deliveries to return.
    ///   - withEnded: whether deliveries are included that cannot be fetched any more.
    package func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool = false
    ) throws(RecordsError) -> [Delivery] {
        try read { (connection) throws(RecordsError) in
            try connection.inbox(of: recipient, after: number, limit: limit, withEnded: withEnded)
        }
    }

    /// The deliveries from a sender, in the order of their numbers, in any state.
    package func sent(by sender: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery] {
        try read { (connection) throws(RecordsError) in try connection.sent(by: sender, after: number, limit: limit) }
    }

    /// - Returns: nil if the upload was never addressed to this person.
    package func delivery(of id: UploadID, to recipient: String) throws(RecordsError) -> Delivery? {
        try read { (connection) throws(RecordsError) in try connection.delivery(of: id, to: recipient) }
    }

    /// The deliveries of several uploads to one person; uploads that were never addressed to this person are left out.
    package func deliveries(of ids: [UploadID], to recipient: String) throws(RecordsError) -> [Delivery] {
        try read { (connection) throws(RecordsError) in
            try connection.together { () throws(RecordsError) in
                var found: [Delivery] = []
                for id in ids {
                    if let delivery = try connection.delivery(of: id, to: recipient) { found.append(delivery) }
                }
                return found
            }
        }
    }

    /// The largest number that any delivery has had.
    package func newestNumber() throws(RecordsError) -> UInt64 {
        try read { (connection) throws(RecordsError) in try connection.newestNumber() }
    }

    /// The uploads of one client that still wait: their number, and their cost in the client's quota in bytes.
    package func open(from client: UInt64) throws(RecordsError) -> (count: Int, bytes: UInt64) {
        try read { (_, totals) throws(RecordsError) in
            let total = totals.sent(by: client)
            return (total.count, total.bytes)
        }
    }

    /// The paths of content that a recipient can still receive.
    package func openPaths() throws(RecordsError) -> Set<RelativePath> {
        try read { (connection) throws(RecordsError) in try connection.openPaths() }
    }
}

extension MailLedger {
    /// All people that the ledger knows.
    package func people() throws(RecordsError) -> [KnownPerson] {
        try read { (connection) throws(RecordsError) in
            let rows = try Statement(
                "SELECT name, sealing, unproven FROM people ORDER BY name", in: connection.database)
            defer { rows.reset() }
            var people: [KnownPerson] = []
            while try rows.next() {
                people.append(
                    KnownPerson(
                        name: rows.text(0), sealingKey: rows.isNull(1) ? nil : rows.blob(1),
                        isUnproven: rows.integer(2) != 0))
            }
            return people
        }
    }

    /// Names from wires without keys that no delivery is addressed to or from, the oldest first.
    package func idlePeople(limit: Int) throws(RecordsError) -> [String] {
        try read { (connection) throws(RecordsError) in
            let rows = try Statement(
                """
                SELECT name FROM people p WHERE unproven = 1
                AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.recipient = p.name)
                AND NOT EXISTS (SELECT 1 FROM mails m WHERE m.sender = p.name) ORDER BY seen LIMIT \(limit)
                """, in: connection.database)
            defer { rows.reset() }
            var names: [String] = []
            while try rows.next() { names.append(rows.text(0)) }
            return names
        }
    }

    package func forget(people names: [String]) throws(RecordsError) {
        try write { (connection, _) throws(RecordsError) in
            let delete = try Statement("DELETE FROM people WHERE name = ?1", in: connection.database)
            for name in names {
                try delete.with(texts: [(1, name)]) { (row) throws(RecordsError) in try row.run() }
            }
        }
    }

    /// Records people as they are now.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    package func keep(_ persons: [KnownPerson], at moment: Int64) throws(RecordsError) {
        try write { (connection, _) throws(RecordsError) in
            let insert = try Statement(
                "INSERT OR REPLACE INTO people (name, sealing, unproven, seen) VALUES (?1, ?2, ?3, ?4)",
                in: connection.database)
            for person in persons {
                insert.bind(3, person.isUnproven ? 1 : 0)
                insert.bind(4, moment)
                try insert.with(texts: [(1, person.name)], blobs: [(2, person.sealingKey)]) {
                    (row) throws(RecordsError) in try row.run()
                }
            }
        }
    }
}
