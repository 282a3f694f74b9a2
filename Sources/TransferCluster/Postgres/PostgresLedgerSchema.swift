package import TransferPostgres

extension PostgresLedger {
    /// The tables of a cluster. Never change a step that was released: add another one.
    ///
    /// Columns of eight bytes come first, then those of four, two and one, then those of any length, so that rows have
    /// no gaps (manual, "Data Page Layout"). There is no index that no statement needs. A small file with its name and
    /// its acknowledgement has some 450 bytes with all indexes.
    ///
    /// Names and senders are bytes, because a text of PostgreSQL cannot have a NUL and is compared by the rules of a
    /// language. Numbers of 64 bits without a sign that no statement compares (clients, pushes, commands, halves of
    /// IDs) are kept as the signed ones with the same bits. Digests begin with a byte for the algorithm.
    package static let schema = PostgresSchema([
        PostgresSchema.Step(
            1, minimumReader: 1,
            [
                // A file, folder or link (`NodeRow`). `size`, `object`, `start` and `digest` are those of a file; a
                // file with `filled` has its content in `extents`, and is described in `object`. Several nodes may exchange their names in one
                // statement, so names are compared at the end of each statement.
                """
                CREATE TABLE nodes (
                    number int8 PRIMARY KEY, folder int8 NOT NULL, touch int8 NOT NULL, modified int8 NOT NULL,
                    size int8, object int8, start int8, filled int8, command int8,
                    nanoseconds int4 NOT NULL, permissions int2 NOT NULL, form int2 NOT NULL, given bool NOT NULL,
                    rotten bool NOT NULL,
                    name bytea NOT NULL, digest bytea, extra bytea, target bytea,
                    CONSTRAINT nodes_name UNIQUE (folder, name) DEFERRABLE INITIALLY IMMEDIATE)
                """,
                // Finds folders below a folder without reading the files beside them.
                "CREATE INDEX nodes_folder ON nodes (folder) WHERE form = \(LedgerForm.folder)",
                "CREATE INDEX nodes_rotten ON nodes (number) WHERE rotten",
                """
                CREATE TABLE extents (
                    node int8, lower int8, upper int8 NOT NULL, object int8 NOT NULL, start int8 NOT NULL,
                    PRIMARY KEY (node, lower))
                """,
                // `emptied` is the time since which nothing refers to the object. Only such objects are in the index,
                // and counting bytes does not change the index.
                """
                CREATE TABLE objects (
                    number int8 PRIMARY KEY, size int8 NOT NULL,
                    live int8 NOT NULL CONSTRAINT objects_live CHECK (live >= 0), emptied int8)
                """,
                "CREATE INDEX objects_emptied ON objects (emptied, number) WHERE emptied IS NOT NULL",
                """
                CREATE TABLE epochs (
                    number int8 PRIMARY KEY, opened int8 NOT NULL, state int2 NOT NULL, key bytea NOT NULL,
                    server bytea NOT NULL)
                """,
                // Unfinished uploads and their parts. The columns from `reached` on are the state of an append upload.
                """
                CREATE TABLE uploads (
                    high int8, low int8, epoch int8 NOT NULL, reserved int8 NOT NULL, written int8 NOT NULL,
                    reached int8, total int8, function int2, declaration bytea, blocks bytea, tail bytea,
                    PRIMARY KEY (high, low))
                """,
                // Nearly all parts have one extent, so the extents are arrays instead of rows.
                """
                CREATE TABLE parts (
                    high int8, low int8, lower int8, upper int8 NOT NULL, digests bytea NOT NULL,
                    objects int8[] NOT NULL, lowers int8[] NOT NULL, uppers int8[] NOT NULL, starts int8[] NOT NULL,
                    PRIMARY KEY (high, low, lower))
                """,
                // Acknowledged uploads. An empty digest is that of the node. The last index finds the newest entries of
                // a node in one state, however many there are.
                """
                CREATE TABLE entries (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, high int8 NOT NULL, low int8 NOT NULL,
                    node int8 NOT NULL, size int8 NOT NULL, begun int8 NOT NULL, committed int8 NOT NULL,
                    path int8 NOT NULL, receipt int8, client int8, run int8,
                    state int2 NOT NULL, kind int2 NOT NULL, durable bool NOT NULL, replaced bool NOT NULL,
                    sender bytea NOT NULL, digest bytea,
                    CONSTRAINT entries_id UNIQUE (high, low))
                """,
                "CREATE INDEX entries_node ON entries (node, state, number)",
                // Receipts that share a signature, with the IDs of their uploads one after the other.
                """
                CREATE TABLE receipts (
                    first int8 PRIMARY KEY, time int8 NOT NULL, version int2 NOT NULL, signature bytea NOT NULL,
                    sender bytea NOT NULL, ids bytea NOT NULL)
                """,
                // What clients have declared of uploads that have begun (`UnfinishedUpload`).
                """
                CREATE TABLE declared (
                    high int8, low int8, begun int8 NOT NULL, size int8, client int8, run int8, modified int8,
                    nanoseconds int4, permissions int2, kind int2 NOT NULL, function int2 NOT NULL,
                    conflict int2 NOT NULL, path bytea NOT NULL, sender bytea NOT NULL, PRIMARY KEY (high, low))
                """,
                """
                CREATE TABLE mails (
                    high int8, low int8, since int8 NOT NULL, queued int8 NOT NULL, size int8 NOT NULL, client int8,
                    modified int8, nanoseconds int4, permissions int2, kind int2 NOT NULL, unproven bool NOT NULL,
                    rotten bool NOT NULL, sender bytea NOT NULL, name bytea NOT NULL, digest bytea NOT NULL,
                    path bytea NOT NULL, note bytea, PRIMARY KEY (high, low))
                """,
                "CREATE INDEX mails_sender ON mails (sender)",
                """
                CREATE TABLE deliveries (
                    number int8 PRIMARY KEY, high int8 NOT NULL, low int8 NOT NULL, changed int8 NOT NULL,
                    since int8 NOT NULL, state int2 NOT NULL, recipient bytea NOT NULL, receipt bytea)
                """,
                "CREATE INDEX deliveries_mail ON deliveries (high, low)",
                "CREATE INDEX deliveries_recipient ON deliveries (recipient, number)",
                // People in the order in which they were entered last, for those of one moment.
                """
                CREATE TABLE people (
                    seen int8 NOT NULL, position int8 GENERATED BY DEFAULT AS IDENTITY, unproven bool NOT NULL,
                    name bytea PRIMARY KEY, key bytea)
                """,
                "CREATE TABLE lists (revision int8 NOT NULL, name bytea PRIMARY KEY, content bytea NOT NULL)",
                // The next number of a receipt, a row that is locked while an unfinished upload is begun, the revision
                // of the mailboxes, and the largest number of a delivery.
                "CREATE TABLE numbers (name text PRIMARY KEY, value int8 NOT NULL)",
                "INSERT INTO numbers VALUES ('receipts', 1), ('uploads', 0), ('mail', 0), ('deliveries', 0)",
            ])
    ])
}

/// Conditions that end a transaction in the midst of a pipeline, where the client cannot decide anything: an expression
/// of plain SQL that fails with a separate code if a condition is false (manual, appendix A).
enum LedgerCondition {
    /// The code of `holds`: division_by_zero.
    static let conflict = "22012"
    /// The code of `isOpen`: invalid_argument_for_logarithm.
    static let epochClosed = "2201E"
    /// The code of `hasRoom`: invalid_argument_for_width_bucket_function.
    static let full = "2201G"
    /// The code of `isWhole`: substring_error.
    static let partial = "22011"

    /// Throws `conflict` unless the condition, a boolean that is not NULL, is true.
    static func holds(_ condition: String) -> String { "1 / (\(condition))::int" }

    static func isOpen(_ condition: String) -> String { "ln((\(condition))::int::float8)" }

    static func hasRoom(_ condition: String) -> String { "width_bucket(0::float8, 0, 1, (\(condition))::int)" }

    /// Makes `PostgresLedger.replace` look at the parts first.
    static func isWhole(_ condition: String) -> String { "substring('' FROM 1 FOR (\(condition))::int - 1)" }

    /// The database's clock: UTC, in nanoseconds since 1970, of which the last three digits are zero.
    static let clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8 * 1000"
}
