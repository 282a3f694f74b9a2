package import TransferModel
package import TransferPorts
import TransferPostgres

extension PostgresLedger {
    /// Deliveries `d` with the mail `m` of each, for queries.
    private static let joined = "deliveries d JOIN mails m ON m.high = d.high AND m.low = d.low"

    /// The bytes of all mails of a query, at most those that fit the type.
    private static let bytes = "least(coalesce(sum(m.size), 0), \(Int64.max))::int8"

    package func mailFacts(_ ids: [UploadID], _ recipients: [String]) throws(LedgerError) -> MailFacts {
        let id = PostgresValue.halves(Array(Set(ids)))
        let isAsked = "IN (SELECT * FROM unnest($1::int8[], $2::int8[]))"
        let names = PostgresValue.byteStrings(Set(recipients.map { PathKey($0) }).map { Array($0.string.utf8) })
        // All senders without keys count as one.
        let waiting = """
            SELECT d.recipient, (array_agg(m.sender))[1], m.unproven, count(*), \(Self.bytes) FROM \(Self.joined)
            WHERE \(MailStatements.isOpen) AND d.recipient = ANY ($1)
            GROUP BY d.recipient, m.unproven, CASE WHEN NOT m.unproven THEN m.sender END
            """
        return try read([
            PostgresStatement(
                """
                SELECT (SELECT value FROM numbers WHERE name = 'mail'),
                    (SELECT value FROM numbers WHERE name = 'deliveries'), \(LedgerCondition.clock)
                """),
            PostgresStatement("SELECT \(MailColumns.select) FROM mails m WHERE (m.high, m.low) \(isAsked)", id),
            PostgresStatement(
                """
                SELECT \(DeliveryColumns.select) FROM \(Self.joined) WHERE (d.high, d.low) \(isAsked) ORDER BY d.number
                """, id), PostgresStatement(waiting, [names]),
        ]) { (answers) throws(PostgresError) in
            let numbers = try answers.answer(0)
            var facts = MailFacts(
                revision: try numbers.integer(0, 0), lastNumber: try numbers.number(0, 1),
                now: try numbers.integer(0, 2))
            let mails = try answers.answer(1)
            for row in 0..<mails.count {
                let mail = try MailColumns.mail(mails, row)
                facts.mails[mail.mail.id] = mail
            }
            facts.deliveries = try DeliveryColumns.deliveries(answers.answer(2))
            facts.waiting = try Self.waiting(answers.answer(3))
            return facts
        }
    }

    /// What waits in mailboxes. A mailbox that was asked for twice counts once.
    private static func waiting(_ rows: PostgresRows) throws(PostgresError) -> [MailFacts.Waiting] {
        var found: [MailFacts.Waiting] = []
        for row in 0..<rows.count {
            let sender = MailSender(try rows.string(row, 1), isUnproven: try rows.boolean(row, 2))
            found.append(
                MailFacts.Waiting(
                    for: try rows.string(row, 0), from: sender, count: Int(clamping: try rows.integer(row, 3)),
                    bytes: try rows.number(row, 4)))
        }
        return found
    }

    package func apply(_ changes: MailChanges) throws(LedgerError) {
        let statements = MailStatements.make(changes)
        if !statements.isEmpty { try change([Self.preferIndexes] + statements) }
    }

    package func waiting(for recipient: String?) throws(LedgerError) -> (count: Int, bytes: UInt64) {
        let statement = PostgresStatement(
            """
            SELECT count(*), \(Self.bytes) FROM \(Self.joined)
            WHERE \(MailStatements.isOpen) AND ($1 IS NULL OR d.recipient = $1)
            """, [.optionalBytes(recipient.map { Array($0.utf8) })])
        return try read(statement) { (rows) throws(PostgresError) in
            (Int(clamping: try rows.integer(0, 0)), try rows.number(0, 1))
        }
    }

    package func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(LedgerError) -> [Delivery] {
        try deliveries(
            "d.recipient = $3 AND ($4 OR \(MailStatements.isOpen))", after: number, limit,
            [.bytes(recipient), .boolean(withEnded)])
    }

    package func sent(by sender: String, after number: UInt64, limit: Int) throws(LedgerError) -> [Delivery] {
        try deliveries("m.sender = $3", after: number, limit, [.bytes(sender)])
    }

    /// - Parameter parameters: those of the condition, from `$3` on.
    private func deliveries(
        _ condition: String, after number: UInt64, _ limit: Int, _ parameters: [PostgresValue]
    ) throws(LedgerError) -> [Delivery] {
        let statement = PostgresStatement(
            """
            SELECT \(MailColumns.select), \(DeliveryColumns.select) FROM \(Self.joined)
            WHERE d.number > $1 AND \(condition) ORDER BY d.number LIMIT $2
            """, [.number(number), .limit(limit)] + parameters)
        return try find(statement) { (rows) throws(PostgresError) in
            var found: [Delivery] = []
            for row in 0..<rows.count {
                let mail = try MailColumns.mail(rows, row).mail
                found.append(try DeliveryColumns.delivery(rows, row, from: MailColumns.count).delivery(of: mail))
            }
            return found
        }
    }

    package func openMails(from client: UInt64?) throws(LedgerError) -> [Mail] {
        let statement = PostgresStatement(
            """
            SELECT \(MailColumns.select) FROM mails m WHERE ($1 IS NULL OR m.client = $1) AND EXISTS (
                SELECT FROM deliveries d WHERE d.high = m.high AND d.low = m.low AND \(MailStatements.isOpen))
            """, [client.map { .integer(Int64(bitPattern: $0)) } ?? .null(.integer)])
        return try read(statement) { (rows) throws(PostgresError) in
            var mails: [Mail] = []
            for row in 0..<rows.count { mails.append(try MailColumns.mail(rows, row).mail) }
            return mails
        }
    }

    // MARK: The end of mails

    /// The longest age, some 146 years: with it, no time overflows.
    private static let longestAge: Int64 = 1 << 62

    private static func age(_ age: Int64) -> PostgresValue { .integer(min(max(age, -longestAge), longestAge)) }

    package func overdueMail(for age: Int64, limit: Int) throws(LedgerError) -> [DeliveryRow] {
        let statement = PostgresStatement(
            """
            WITH bound AS MATERIALIZED (SELECT \(LedgerCondition.clock) - $1 AS moment)
            SELECT \(DeliveryColumns.select) FROM bound, \(Self.joined)
            WHERE \(MailStatements.isOpen) AND d.since < bound.moment AND m.since < bound.moment
            ORDER BY d.number LIMIT $2
            """, [Self.age(age), .limit(limit)])
        return try read(statement, DeliveryColumns.deliveries)
    }

    package func forgetMail(endedFor age: Int64) throws(LedgerError) {
        // The lock lets the next statement see all mails that are there.
        let lock = PostgresStatement("SELECT value FROM numbers WHERE name = 'mail' FOR UPDATE")
        let forget = """
            WITH bound AS MATERIALIZED (SELECT \(LedgerCondition.clock) - $1 AS moment),
            gone AS (
                DELETE FROM mails m USING bound WHERE m.since < bound.moment AND NOT EXISTS (
                    SELECT FROM deliveries d WHERE d.high = m.high AND d.low = m.low
                        AND (\(MailStatements.isOpen) OR d.since >= bound.moment))
                RETURNING m.high, m.low),
            deliveries AS (DELETE FROM deliveries d USING gone WHERE d.high = gone.high AND d.low = gone.low)
            UPDATE numbers SET value = value + 1 WHERE name = 'mail' AND EXISTS (SELECT FROM gone)
            """
        try change(lock, PostgresStatement(forget, [Self.age(age)]))
    }

    // MARK: People

    package func people() throws(LedgerError) -> [KnownPerson] {
        try read(PostgresStatement("SELECT name, key, unproven FROM people ORDER BY name")) {
            (rows) throws(PostgresError) in
            var people: [KnownPerson] = []
            for row in 0..<rows.count {
                people.append(
                    KnownPerson(
                        name: try rows.string(row, 0), sealingKey: try rows.optionalBytes(row, 1),
                        isUnproven: try rows.boolean(row, 2)))
            }
            return people
        }
    }

    package func idlePeople(limit: Int) throws(LedgerError) -> [String] {
        let statement = PostgresStatement(
            """
            SELECT p.name FROM people p WHERE p.unproven
                AND NOT EXISTS (SELECT FROM deliveries d WHERE d.recipient = p.name)
                AND NOT EXISTS (SELECT FROM mails m WHERE m.sender = p.name)
            ORDER BY p.seen, p.position LIMIT $1
            """, [.limit(limit)])
        return try read(statement) { (rows) throws(PostgresError) in
            var names: [String] = []
            for row in 0..<rows.count { names.append(try rows.string(row, 0)) }
            return names
        }
    }

    package func forget(people names: [String]) throws(LedgerError) {
        guard !names.isEmpty else { return }
        try change(
            PostgresStatement("DELETE FROM people WHERE name = ANY ($1)", [.byteStrings(names.map { Array($0.utf8) })]))
    }

    package func keep(_ persons: [KnownPerson], at moment: Int64) throws(LedgerError) {
        // A statement can change each row once: the last value of each name counts.
        var seen: Set<PathKey> = []
        let people = persons.reversed().filter { seen.insert(PathKey($0.name)).inserted }.reversed()
        guard !people.isEmpty else { return }
        let keep = """
            INSERT INTO people (seen, unproven, name, key)
            SELECT $1, p.unproven, p.name, p.key FROM unnest($2::bool[], $3::bytea[], $4::bytea[]) WITH ORDINALITY
                AS p (unproven, name, key, position) ORDER BY p.position
            ON CONFLICT (name) DO UPDATE SET seen = excluded.seen, position = excluded.position,
                unproven = excluded.unproven, key = excluded.key
            """
        try change(
            PostgresStatement(
                keep,
                [
                    .integer(moment), .booleans(people.map(\.isUnproven)),
                    .byteStrings(people.map { Array($0.name.utf8) }), .byteStrings(people.map(\.sealingKey)),
                ]))
    }

    // MARK: Access lists

    package func accessLists(_ names: [String]) throws(LedgerError) -> [AccessListRow] {
        let statement = PostgresStatement(
            "SELECT name, content, revision FROM lists WHERE name = ANY ($1)",
            [.byteStrings(names.map { Array($0.utf8) })])
        let found = try read(statement) { (rows) throws(PostgresError) in
            var lists: [PathKey: AccessListRow] = [:]
            for row in 0..<rows.count {
                let name = try rows.string(row, 0)
                lists[PathKey(name)] = AccessListRow(
                    name, try rows.bytes(row, 1), revision: try rows.integer(row, 2))
            }
            return lists
        }
        return names.map { found[PathKey($0)] ?? AccessListRow($0, [], revision: 0) }
    }

    package func replace(_ lists: [AccessListRow]) throws(LedgerError) {
        guard !lists.isEmpty else { return }
        let sorted = lists.sorted { PathKey($0.name) < PathKey($1.name) }
        // A list of revision 0 has no row.
        let replace = """
            WITH given AS (SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::int8[]) AS g (name, content, revision)),
            made AS (
                INSERT INTO lists (revision, name, content) SELECT 1, name, content FROM given WHERE revision = 0
                ON CONFLICT DO NOTHING RETURNING 1),
            changed AS (
                UPDATE lists l SET revision = l.revision + 1, content = g.content FROM given g
                WHERE l.name = g.name AND l.revision = g.revision RETURNING 1)
            SELECT \(LedgerCondition.holds("(SELECT count(*) FROM made) + (SELECT count(*) FROM changed) = $4"))
            """
        try change(
            PostgresStatement(
                replace,
                [
                    .byteStrings(sorted.map { Array($0.name.utf8) }), .byteStrings(sorted.map(\.content)),
                    .integers(sorted.map(\.revision)), .integer(Int64(sorted.count)),
                ]))
    }
}
