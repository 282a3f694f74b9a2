import TransferDatabase
internal import TransferModel
import TransferPorts

/// The tables, and how those of earlier versions become today's. The version is the file's `user_version`.
enum CatalogSchema {
    /// What each version adds to the one before it; the first makes an empty file version 1. Never change one that was
    /// released: add another.
    static let steps: [[String]] = [
        [
            // Columns that are numbers for us are numbers there; with its part in the index a row takes some 170 bytes.
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
            // Which push an upload came in, and what tells a file that was written to within one tick of a slow clock.
            "ALTER TABLE uploads ADD COLUMN run INTEGER",
            "ALTER TABLE uploads ADD COLUMN modified INTEGER",
            // Entries as they came, a batch in each row (`CatalogRecord`): appending one touches few pages, while its rows
            // in the table of uploads and their random ids in its index touch one each.
            "CREATE TABLE arrivals (number INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
        ],
        [
            // Apart, because few uploads have one, and it is larger than all the rest.
            """
            CREATE TABLE receipts (
                upload INTEGER PRIMARY KEY REFERENCES uploads (number) ON DELETE CASCADE,
                receipt BLOB NOT NULL
            )
            """
        ],
        [
            // One row at most: all receipts have numbers below.
            "CREATE TABLE numbers (kept INTEGER NOT NULL)"
        ],
        [
            // Keeping each whole cost more than making it.
            "DROP TABLE receipts"
        ],
        [
            // What makes the receipts of a batch again, one row for each signature: its time, and the ids of its uploads one
            // behind the other. An upload has the number of its receipt.
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
            // For whoever lists what is stored, or removes it. Paths of a push come in their order, so most of its rows
            // are on few pages.
            "CREATE INDEX uploads_by_path ON uploads (path)"
        ],
        [
            // What the disk has lost, as it was when that was found.
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
            // A name says too little: a key and a token may have the same.
            "ALTER TABLE uploads ADD COLUMN client INTEGER",
            // To find who has stored a file among any number of uploads whose content was there already.
            "DROP INDEX uploads_by_path",
            "CREATE INDEX uploads_by_path ON uploads (path, state)",
        ],
        [
            // What a store knows content by is its own affair: in a directory they are what they were called.
            "ALTER TABLE uploads RENAME COLUMN inode TO object",
            "ALTER TABLE uploads RENAME COLUMN changed TO touch",
            "ALTER TABLE uploads RENAME COLUMN modified TO revision",
            "ALTER TABLE rotten RENAME COLUMN inode TO object",
            "ALTER TABLE rotten RENAME COLUMN changed TO touch",
            "ALTER TABLE rotten RENAME COLUMN modified TO revision",
        ],
        [
            // All that was declared of an upload that has begun. It stood among the others, where most of that had no place.
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
            // What a server is about to do with stored files, until it is known what came of it.
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
            // 1 of an upload that took the place of other content: a replay says so again.
            "ALTER TABLE uploads ADD COLUMN replaced INTEGER",
        ],
        [
            // The last row that was there when it was noted, and whether what was known below a folder's new path has gone.
            "ALTER TABLE intended ADD COLUMN newest INTEGER",
            "ALTER TABLE intended ADD COLUMN cleared INTEGER",
        ],
        [
            // By the file: its names, and their changes, say nothing of what the disk has lost.
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
            // Where the directory was when a server looked last (`DirectoryHome`), one row at most; and whether what was
            // acknowledged in the directory that it is a copy of is still to be adopted.
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
            // Receipts can only be made again from all the uploads that they were signed with: when one of these is known no more,
            // the row of their signature is of no use.
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

    /// Deletes the row of the signature that a receipt has, by its number.
    private static let deleteSignature = """
        DELETE FROM receipts
        WHERE first = (SELECT max(first) FROM receipts WHERE first <= old.receipt)
            AND old.receipt - first < length(uploads) / \(UploadID.size);
        """

    static let schema = DatabaseSchema(steps, called: Catalog.name)
}
