import TransferDatabase
import TransferModel

/// What the ledger knows of somebody beside deliveries.
package struct KnownPerson: Equatable, Sendable {
    package var name: String

    /// What the person says of its key for sealed uploads, signed by it.
    package var sealingKey: [UInt8]?

    /// Whether the name came over a wire without keys, so that nobody can say whose it is.
    package var isUnproven: Bool
}

extension MailLedger {
    /// All that are known.
    func people() throws(DatabaseError) -> [KnownPerson] {
        try read { (connection) throws(DatabaseError) in
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

    /// Names from wires without keys that no delivery is for or from, those that came first in front.
    func idlePeople(limit: Int) throws(DatabaseError) -> [String] {
        try read { (connection) throws(DatabaseError) in
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

    func forget(people names: [String]) throws(DatabaseError) {
        try write { (connection, _) throws(DatabaseError) in
            let delete = try Statement("DELETE FROM people WHERE name = ?1", in: connection.database)
            for name in names {
                try delete.with(texts: [(1, name)]) { (row) throws(DatabaseError) in try row.run() }
            }
        }
    }

    /// Writes down what is known of people now.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    func keep(_ persons: [KnownPerson], at moment: Int64) throws(DatabaseError) {
        try write { (connection, _) throws(DatabaseError) in
            let insert = try Statement(
                "INSERT OR REPLACE INTO people (name, sealing, unproven, seen) VALUES (?1, ?2, ?3, ?4)",
                in: connection.database)
            for person in persons {
                insert.bind(3, person.isUnproven ? 1 : 0)
                insert.bind(4, moment)
                try insert.with(texts: [(1, person.name)], blobs: [(2, person.sealingKey)]) {
                    (row) throws(DatabaseError) in try row.run()
                }
            }
        }
    }
}
