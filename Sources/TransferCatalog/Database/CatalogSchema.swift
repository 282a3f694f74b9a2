import TransferDatabase
internal import TransferModel
import TransferPorts

/// The tables, and the steps from earlier versions to the current one. The version is the file's `user_version`.
enum CatalogSchema {
    /// What each version adds to the one before it; the first makes an empty file version 1. Never change a step that
    /// was released: add another one.
    static let steps: [[String]] = [
        [
            // Values that are numbers in the program are numbers in the table; a row with its part in the index takes
            // some 170 bytes.
            """
            CREATE TABLE uploads (
                number INTEGER PRIMARY KEY,
                id BLOB NOT NULL,
                state INTEGER NOT NULL,
                durable INTEGER NOT NULL,
                kind INTEGER NOT NULL,
                size INTEGER NOT NULL,
                begun INTEGER NOT NULL,
                committed INTEGER,
                algorithm INTEGER,
                digest BLOB,
                inode INTEGER,
                changed INTEGER,
                path TEXT NOT NULL,
                sender TEXT NOT NULL
            )
            """,
            "CREATE UNIQUE INDEX uploads_by_id ON uploads (id)",
        ],
        [
            // The push of an upload, and the file's time of modification, which distinguishes a file that was written
            // again within one tick of a slow clock.
            "ALTER TABLE uploads ADD COLUMN run INTEGER",
            "ALTER TABLE uploads ADD COLUMN modified INTEGER",
            // Entries in the order in which they arrived, one batch in each row (`CatalogRecord`). Appending a batch
            // changes few pages. In the table of uploads, each entry changes one page for its row and another one for
            // its random id in the index.
            "CREATE TABLE arrivals (number INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
        ],
        [
            // Receipts have a separate table, because few uploads have one, and a receipt is larger than the rest of
            // the row.
            """
            CREATE TABLE receipts (
                upload INTEGER PRIMARY KEY REFERENCES uploads (number) ON DELETE CASCADE,
                receipt BLOB NOT NULL
            )
            """
        ],
        [
            // At most one row. Its number is larger than those of all receipts.
            "CREATE TABLE numbers (kept INTEGER NOT NULL)"
        ],
        [
            // Storing each receipt as a whole costs more than making it again.
            "DROP TABLE receipts"
        ],
        [
            // The data from which the receipts of a batch can be made again, one row for each signature: time,
            // signature, and the concatenated ids of the uploads. The new column of uploads has the number of the
            // receipt.
            "ALTER TABLE uploads ADD COLUMN receipt INTEGER",
            """
            CREATE TABLE receipts (
                first INTEGER PRIMARY KEY,
                version INTEGER NOT NULL,
                time INTEGER NOT NULL,
                sender TEXT NOT NULL,
                signature BLOB NOT NULL,
                uploads BLOB NOT NULL
            )
            """,
        ],
        [
            // An index for listing and removing stored files. The paths of a push arrive in order, so most of these
            // rows are on few pages.
            "CREATE INDEX uploads_by_path ON uploads (path)"
        ],
        [
            // Files whose content the disk has lost, as they were when that was found.
            """
            CREATE TABLE rotten (
                path TEXT PRIMARY KEY,
                inode INTEGER NOT NULL,
                changed INTEGER NOT NULL,
                modified INTEGER NOT NULL,
                size INTEGER NOT NULL,
                algorithm INTEGER NOT NULL,
                digest BLOB NOT NULL
            ) WITHOUT ROWID
            """
        ],
        [
            // Identifies the client. A name is not enough: a key and a token may have the same name.
            "ALTER TABLE uploads ADD COLUMN client INTEGER",
            // An index for the query which upload has stored the file of a path: it skips the path's many
            // `alreadyStored` rows.
            "DROP INDEX uploads_by_path",
            "CREATE INDEX uploads_by_path ON uploads (path, state)",
        ],
        [
            // Each kind of store chooses the numbers in its versions. In a directory, they are what the old names of
            // these columns say.
            "ALTER TABLE uploads RENAME COLUMN inode TO object",
            "ALTER TABLE uploads RENAME COLUMN changed TO touch",
            "ALTER TABLE uploads RENAME COLUMN modified TO revision",
            "ALTER TABLE rotten RENAME COLUMN inode TO object",
            "ALTER TABLE rotten RENAME COLUMN changed TO touch",
            "ALTER TABLE rotten RENAME COLUMN modified TO revision",
        ],
        [
            // Everything that the client declared of an upload that has begun. These uploads were in the table of
            // uploads before, which has no columns for most of this.
            """
            CREATE TABLE unfinished (
                id BLOB PRIMARY KEY,
                path TEXT NOT NULL,
                size INTEGER,
                kind INTEGER NOT NULL,
                function INTEGER NOT NULL,
                conflict INTEGER NOT NULL,
                modified INTEGER,
                nanoseconds INTEGER,
                permissions INTEGER,
                sender TEXT NOT NULL,
                client INTEGER,
                begun INTEGER NOT NULL,
                run INTEGER
            ) WITHOUT ROWID
            """,
            """
            INSERT INTO unfinished (id, path, size, kind, function, conflict, sender, client, begun, run)
            SELECT id, path, nullif(size, 0), kind, \(DigestFunction.xxh128.rawValue), \(ConflictPolicy.keepBoth.rawValue),
                sender, client, begun, run
            FROM uploads WHERE state = 0
            """,
            "DELETE FROM uploads WHERE state = 0",
        ],
        [
            // Changes of stored files that a server is about to make, until their outcome is known.
            """
            CREATE TABLE intended (
                number INTEGER PRIMARY KEY,
                form INTEGER NOT NULL,
                path TEXT NOT NULL,
                target TEXT NOT NULL,
                object INTEGER NOT NULL,
                touch INTEGER NOT NULL,
                revision INTEGER NOT NULL,
                size INTEGER NOT NULL,
                modified INTEGER,
                moment INTEGER NOT NULL
            )
            """,
            // 1 for an upload that has replaced other content: if the client sends it again, the answer says so again.
            "ALTER TABLE uploads ADD COLUMN replaced INTEGER",
        ],
        [
            // The number of the last row of uploads when the change was noted, and the progress of a move
            // (`MoveProgress`).
            "ALTER TABLE intended ADD COLUMN newest INTEGER",
            "ALTER TABLE intended ADD COLUMN cleared INTEGER",
        ],
        [
            // Rotten files are now identified by the file instead of the path: if the disk has lost the content,
            // changes of names do not matter.
            """
            CREATE TABLE lost (
                object INTEGER NOT NULL,
                revision INTEGER NOT NULL,
                size INTEGER NOT NULL,
                algorithm INTEGER NOT NULL,
                digest BLOB NOT NULL,
                PRIMARY KEY (object, revision, size)
            ) WITHOUT ROWID
            """,
            "INSERT OR IGNORE INTO lost SELECT object, revision, size, algorithm, digest FROM rotten",
            "DROP TABLE rotten",
            "ALTER TABLE lost RENAME TO rotten",
        ],
        [
            // The home of the directory when a server last determined it (`DirectoryHome`), at most one row, and
            // whether files of a copied directory still have to be adopted.
            """
            CREATE TABLE home (
                token INTEGER NOT NULL,
                object INTEGER NOT NULL,
                touch INTEGER NOT NULL,
                catalog INTEGER NOT NULL,
                adopting INTEGER NOT NULL
            )
            """
        ],
        [
            // A receipt can only be made again from all uploads that share its signature. If one of these is deleted,
            // the row of the signature is useless.
            """
            CREATE TRIGGER receipt_deleted AFTER DELETE ON uploads WHEN old.receipt IS NOT NULL
            BEGIN \(deleteSignature) END
            """,
            """
            CREATE TRIGGER receipt_replaced AFTER UPDATE OF receipt ON uploads
            WHEN old.receipt IS NOT NULL AND old.receipt IS NOT new.receipt
            BEGIN \(deleteSignature) END
            """,
        ],
    ]

    /// Deletes the row of a receipt's signature, by the number of the receipt.
    private static let deleteSignature = """
        DELETE FROM receipts
        WHERE first = (SELECT max(first) FROM receipts WHERE first <= old.receipt)
            AND old.receipt - first < length(uploads) / \(UploadID.size);
        """

    static let schema = DatabaseSchema(steps, called: Catalog.name)
}
