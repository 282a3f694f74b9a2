import TransferDatabase

/// The tables of the ledger.
enum MailSchema {
    static let name = "mailbox database"

    /// Never change a step that was released: add another one.
    static let schema = DatabaseSchema(
        [
            [
                """
                CREATE TABLE mails (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    id BLOB NOT NULL UNIQUE,
                    sender TEXT NOT NULL,
                    client INTEGER,
                    name TEXT NOT NULL,
                    kind INTEGER NOT NULL,
                    size INTEGER NOT NULL,
                    algorithm INTEGER NOT NULL,
                    digest BLOB NOT NULL,
                    modified INTEGER,
                    nanoseconds INTEGER,
                    permissions INTEGER,
                    note BLOB,
                    path TEXT NOT NULL,
                    queued INTEGER NOT NULL
                )
                """,
                "CREATE INDEX mails_by_sender ON mails (sender, number)",
                """
                CREATE TABLE deliveries (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    mail INTEGER NOT NULL REFERENCES mails (number) ON DELETE CASCADE,
                    recipient TEXT NOT NULL,
                    state INTEGER NOT NULL,
                    changed INTEGER NOT NULL,
                    receipt BLOB,
                    UNIQUE (mail, recipient)
                )
                """,
                "CREATE INDEX deliveries_by_recipient ON deliveries (recipient, number)",
                "CREATE INDEX open_deliveries ON deliveries (recipient, number) WHERE state < 3",
                // Public keys of people for sealed uploads, and names that are known from wires without keys.
                """
                CREATE TABLE people (
                    name TEXT PRIMARY KEY,
                    sealing BLOB,
                    unproven INTEGER NOT NULL DEFAULT 0,
                    seen INTEGER NOT NULL
                )
                """,
            ],
            [
                // The last stored time of the ledger's own clock; `since` is a time of that clock.
                "CREATE TABLE clock (now INTEGER NOT NULL)",
                "INSERT INTO clock VALUES (0)",
                "ALTER TABLE mails ADD COLUMN since INTEGER NOT NULL DEFAULT 0",
                "ALTER TABLE deliveries ADD COLUMN since INTEGER NOT NULL DEFAULT 0",
                "ALTER TABLE mails ADD COLUMN unproven INTEGER NOT NULL DEFAULT 0",
                "ALTER TABLE mails ADD COLUMN rotten INTEGER NOT NULL DEFAULT 0",
            ],
        ], called: name)
}
