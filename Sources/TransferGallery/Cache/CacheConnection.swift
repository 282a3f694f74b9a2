import TransferDatabase
import TransferModel
import TransferPictures

/// The tables of the cache.
enum CacheSchema {
    static let name = "cache of thumbnails"

    static let schema = DatabaseSchema(
        [
            [
                """
                CREATE TABLE pictures (
                    key BLOB PRIMARY KEY,
                    maker INTEGER NOT NULL,
                    format INTEGER,
                    width INTEGER,
                    height INTEGER,
                    taken TEXT,
                    zone INTEGER,
                    camera TEXT,
                    flags INTEGER NOT NULL,
                    colour INTEGER,
                    refusal INTEGER,
                    used INTEGER NOT NULL
                ) WITHOUT ROWID
                """,
                """
                CREATE TABLE thumbnails (
                    number INTEGER PRIMARY KEY,
                    key BLOB NOT NULL,
                    side INTEGER NOT NULL,
                    maker INTEGER NOT NULL,
                    used INTEGER NOT NULL,
                    file BLOB,
                    UNIQUE (key, side)
                )
                """,
                "CREATE INDEX pictures_by_use ON pictures (used)",
                "CREATE INDEX thumbnails_by_use ON thumbnails (used, number)",
            ]
        ], called: name)
}

/// The connection of a cache, with its prepared statements.
///
/// `@unchecked Sendable`: only used while the cache's lock is held.
final class CacheConnection: @unchecked Sendable {
    /// KiB of pages that the connection caches.
    private static let cacheSize = 1024

    /// Bits of the column `flags`.
    private struct Flags: OptionSet {
        let rawValue: Int64
        static let location = Flags(rawValue: 1)
        static let animated = Flags(rawValue: 2)
        /// All pixels could be decoded, and some could not; neither if no thumbnail was made.
        static let whole = Flags(rawValue: 4)
        static let cut = Flags(rawValue: 8)
    }

    private let database: Database
    private let findThumbnail: Statement
    private let setUsed: Statement
    private let setPictureUsed: Statement
    private let findPicture: Statement
    private let putPicture: Statement
    private let putThumbnail: Statement
    private let deleteFailure: Statement
    private let forgetThumbnails: Statement
    private let forgetPictures: Statement
    private let sum: Statement
    private let deleteOldest: Statement
    private let deleteUnseen: Statement
    /// Bytes of all thumbnails; nil before they were counted.
    private var counted: Int64?

    init(_ file: DatabaseFile) throws(RecordsError) {
        database = try file.open(cacheSize: Self.cacheSize)
        try CacheSchema.schema.migrate(database)
        // A library may have been installed since.
        _ = try database.execute(
            "UPDATE pictures SET refusal = NULL WHERE refusal = \(PictureRefusal.unsupported.rawValue)")
        findThumbnail = try Statement(
            "SELECT file, number, used, maker FROM thumbnails WHERE key = ?1 AND side = ?2", in: database)
        setUsed = try Statement("UPDATE thumbnails SET used = ?2 WHERE number = ?1", in: database)
        setPictureUsed = try Statement("UPDATE pictures SET used = ?2 WHERE key = ?1", in: database)
        findPicture = try Statement(
            """
            SELECT format, width, height, taken, zone, camera, flags, colour, refusal, maker FROM pictures
            WHERE key = ?1
            """, in: database)
        putPicture = try Statement(
            """
            INSERT INTO pictures (key, maker, format, width, height, taken, zone, camera, flags, colour, refusal, used)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            ON CONFLICT (key) DO UPDATE SET maker = ?2, format = coalesce(?3, format), width = coalesce(?4, width),
            height = coalesce(?5, height), taken = coalesce(?6, taken), zone = coalesce(?7, zone),
            camera = coalesce(?8, camera), flags = ?9 | (flags & (3 + 12 * ((?9 & 12) = 0))),
            colour = coalesce(?10, colour), refusal = ?11, used = ?12
            """, in: database)
        putThumbnail = try Statement(
            "INSERT OR IGNORE INTO thumbnails (key, side, used, file, maker) VALUES (?1, ?2, ?3, ?4, ?5)", in: database)
        deleteFailure = try Statement(
            "DELETE FROM thumbnails WHERE key = ?1 AND side = ?2 AND file IS NULL", in: database)
        forgetThumbnails = try Statement("DELETE FROM thumbnails WHERE used < ?1", in: database)
        forgetPictures = try Statement("DELETE FROM pictures WHERE used < ?1", in: database)
        sum = try Statement("SELECT total(length(file)) FROM thumbnails", in: database)
        deleteOldest = try Statement(
            """
            DELETE FROM thumbnails WHERE number IN (SELECT number FROM thumbnails ORDER BY used, number LIMIT ?1)
            RETURNING length(file)
            """, in: database)
        deleteUnseen = try Statement(
            "DELETE FROM pictures WHERE key NOT IN (SELECT key FROM thumbnails)", in: database)
    }

    /// A thumbnail, or that its decoder has failed today.
    ///
    /// - Parameter side: nil for what is said about the picture.
    func thumbnail(_ key: PictureKey, _ side: ThumbnailSide?, today: Int64) throws(RecordsError) -> PictureReport? {
        try key.withBytes { (key) throws(RecordsError) -> PictureReport? in
            let found = try row(key, side)
            guard let found else { return nil }
            guard !found.file.isEmpty else {
                let counts = found.used == today && found.maker == PictureCache.maker
                return counts ? PictureReport(refusal: .failed) : nil
            }
            if found.used != today {
                setUsed.bind(1, found.number)
                setUsed.bind(2, today)
                try setUsed.run()
                setPictureUsed.bind(1, blob: key)
                setPictureUsed.bind(2, today)
                try setPictureUsed.run()
            }
            return PictureReport(thumbnail: found.file)
        }
    }

    private func row(
        _ key: UnsafeRawBufferPointer, _ side: ThumbnailSide?
    ) throws(RecordsError) -> (file: [UInt8], number: Int64, used: Int64, maker: Int64)? {
        defer { findThumbnail.reset() }
        findThumbnail.bind(1, blob: key)
        findThumbnail.bind(2, Int64(side?.rawValue ?? 0))
        guard try findThumbnail.next() else { return nil }
        return (
            findThumbnail.blob(0), findThumbnail.integer(1), findThumbnail.integer(2), findThumbnail.integer(3)
        )
    }

    /// What is known about a picture; nil if it has to be found out.
    func report(_ key: PictureKey) throws(RecordsError) -> PictureReport? {
        try key.withBytes { (key) throws(RecordsError) -> PictureReport? in
            defer { findPicture.reset() }
            findPicture.bind(1, blob: key)
            guard try findPicture.next() else { return nil }
            var report = PictureReport(
                summary: summary, refusal: PictureRefusal(rawValue: Int(clamping: findPicture.integer(8))))
            if report.refusal == .damaged { report.summary?.isDecoded = false }
            // Other decoders may not refuse it.
            if report.refusal != nil, findPicture.integer(9) != PictureCache.maker { return nil }
            return report.summary != nil || report.refusal != nil ? report : nil
        }
    }

    /// The summary in the current row of `findPicture`.
    private var summary: PictureSummary? {
        guard let number = findPicture.optionalInteger(0),
            let format = PictureFormat(rawValue: UInt8(clamping: number)),
            let width = Int(exactly: findPicture.integer(1)), let height = Int(exactly: findPicture.integer(2)),
            width > 0, height > 0
        else { return nil }
        var summary = PictureSummary(format: format, width: width, height: height)
        summary.taken = findPicture.isNull(3) ? nil : findPicture.text(3)
        summary.offset = findPicture.optionalInteger(4).map { Int(clamping: $0) }
        summary.camera = findPicture.isNull(5) ? nil : findPicture.text(5)
        let flags = Flags(rawValue: findPicture.integer(6))
        (summary.hasLocation, summary.isAnimated) = (flags.contains(.location), flags.contains(.animated))
        if !flags.isDisjoint(with: [.whole, .cut]) { summary.isDecoded = flags.contains(.whole) }
        summary.colour = findPicture.optionalInteger(7).map { UInt32(clamping: $0) }
        return summary
    }

    /// - Parameter today: the day on which the report is used, in days since 1970.
    func add(
        _ report: PictureReport, _ key: PictureKey, _ side: ThumbnailSide?, today: Int64
    ) throws(RecordsError) {
        try key.withBytes { (key) throws(RecordsError) in
            deleteFailure.bind(1, blob: key)
            deleteFailure.bind(2, Int64(side?.rawValue ?? 0))
            try deleteFailure.run()
            // A decoder that was killed says nothing about the picture, which may have a thumbnail of another size.
            guard report.refusal != .failed else { return try put([], key, side, today) }
            try put(report, key, today)
            if let file = report.thumbnail { try put(file, key, side, today) }
        }
    }

    private func put(
        _ file: [UInt8], _ key: UnsafeRawBufferPointer, _ side: ThumbnailSide?, _ today: Int64
    ) throws(RecordsError) {
        let (known, changes) = (try bytes(), database.totalChanges)
        try file.span.bytes.withUnsafeBytes { (content) throws(RecordsError) in
            putThumbnail.bind(1, blob: key)
            putThumbnail.bind(2, Int64(side?.rawValue ?? 0))
            putThumbnail.bind(3, today)
            if content.isEmpty { putThumbnail.bind(4, nil as Int64?) } else { putThumbnail.bind(4, blob: content) }
            putThumbnail.bind(5, PictureCache.maker)
            try putThumbnail.run()
        }
        if database.totalChanges > changes { counted = known + Int64(file.count) }
    }

    /// Forgets what was not used since a day.
    func forget(before day: Int64) throws(RecordsError) {
        counted = nil
        forgetThumbnails.bind(1, day)
        try forgetThumbnails.run()
        forgetPictures.bind(1, day)
        try forgetPictures.run()
    }

    private func put(_ report: PictureReport, _ key: UnsafeRawBufferPointer, _ today: Int64) throws(RecordsError) {
        let summary = report.summary
        var flags: Flags = []
        if summary?.hasLocation == true { flags.insert(.location) }
        if summary?.isAnimated == true { flags.insert(.animated) }
        if let isDecoded = summary?.isDecoded { flags.insert(isDecoded ? .whole : .cut) }
        putPicture.bind(1, blob: key)
        putPicture.bind(2, PictureCache.maker)
        putPicture.bind(3, (summary?.format.rawValue).map { Int64($0) })
        putPicture.bind(4, (summary?.width).map { Int64($0) })
        putPicture.bind(5, (summary?.height).map { Int64($0) })
        putPicture.bind(7, (summary?.offset).map { Int64($0) })
        putPicture.bind(9, flags.rawValue)
        putPicture.bind(10, (summary?.colour).map { Int64($0) })
        putPicture.bind(11, (report.refusal?.rawValue).map { Int64($0) })
        putPicture.bind(12, today)
        try bind(6, summary?.taken) { () throws(RecordsError) in
            try bind(8, summary?.camera) { () throws(RecordsError) in try putPicture.run() }
        }
    }

    /// Binds a text, which stays valid while `body` runs.
    private func bind(
        _ index: Int32, _ text: String?, _ body: () throws(RecordsError) -> Void
    ) throws(RecordsError) {
        guard let text else {
            putPicture.bind(index, nil as Int64?)
            return try body()
        }
        let bytes = Array(text.utf8)
        try bytes.span.withUnsafeBufferPointer { (bytes) throws(RecordsError) in
            putPicture.bind(index, text: bytes)
            try body()
        }
    }

    /// Bytes that the files of all thumbnails have together.
    func bytes() throws(RecordsError) -> Int64 {
        if let counted { return counted }
        defer { sum.reset() }
        let bytes = try sum.next() ? sum.integer(0) : 0
        counted = bytes
        return bytes
    }

    /// Bytes of the file that are in use.
    func sizeOnDisk() throws(RecordsError) -> Int64 {
        let pages = try database.execute("PRAGMA page_count") ?? 0
        let unused = try database.execute("PRAGMA freelist_count") ?? 0
        return (pages - unused) * (try database.execute("PRAGMA page_size") ?? 0)
    }

    /// Forgets what is known about pictures that have no thumbnail.
    func removeUnseen() throws(RecordsError) { try deleteUnseen.run() }

    /// Removes the thumbnails that were not used for longest.
    ///
    /// - Returns: the number of removed thumbnails.
    func removeOldest(_ count: Int64) throws(RecordsError) -> Int {
        defer { deleteOldest.reset() }
        let known = try bytes()
        deleteOldest.bind(1, count)
        var (removed, size): (Int, Int64) = (0, 0)
        while try deleteOldest.next() { (removed, size) = (removed + 1, size + deleteOldest.integer(0)) }
        counted = max(0, known - size)
        return removed
    }
}

extension PictureKey {
    fileprivate func withBytes<T>(
        _ body: (UnsafeRawBufferPointer) throws(RecordsError) -> T
    ) throws(RecordsError) -> T {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(RecordsError) in try body(bytes) }
    }
}
