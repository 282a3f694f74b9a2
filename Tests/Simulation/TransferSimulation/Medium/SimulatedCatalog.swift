import Glibc
import TransferCatalog
import TransferDatabase
import TransferModel
import TransferPorts
import TransferTestSupport

/// Catalog of a simulated server: the real catalog, on SQLite in memory, whose calls fail when the simulation says so.
///
/// **What a power cut takes.** A commit with a sync that succeeded makes itself and all earlier commits durable. Until
/// the next commit of this kind, commits without a sync, and those whose sync failed, are on disk or not: each power
/// cut keeps the oldest of them up to a point that it chooses, as SQLite finds them in its log afterwards
/// (sqlite.org/pragma.html#pragma_synchronous).
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedCatalog: @unchecked Sendable {
    private enum Fault: UInt32, CaseIterable {
        /// A call other than a commit is not made.
        case step
        /// A commit is not made.
        case commit
        /// A commit is made and its sync fails, so that the server receives a failure.
        case sync
        /// The process dies before a commit.
        case death
        /// The process dies after a commit.
        case deathBehind
        /// The process dies while a commit is synced.
        case deathInSync

        static let deaths: [Fault] = [.death, .deathBehind, .deathInSync]

        var isDeath: Bool { Self.deaths.contains(self) }

        /// Whether the file contains the commit when the fault occurs.
        var isLate: Bool { self == .sync || self == .deathBehind || self == .deathInSync }
    }

    /// SQLITE_IOERR (sqlite.org/rescode.html#ioerr).
    private static let failed: Int32 = 10

    /// A catalog without rows, which each world copies: making its tables takes longer than a short run.
    private static let template: [UInt8] = {
        guard let directory = try? TemporaryDirectory(prefersMemory: true) else { return [] }
        let path = directory.path(Catalog.fileName)
        try? Catalog(path: path, isDurable: false) { _ in }.close()
        return content(of: path)
    }()

    private let path: String
    /// A planted mistake: the catalog does not keep intended changes.
    private let forgetsIntended: Bool
    /// Number of servers so far. The calls of an earlier server fail.
    private var servers = 0
    private weak var catalog: Catalog?
    /// Whether any call has failed so far. After a failure, the server may not know every upload that it knew before.
    private(set) var hasFailed = false
    /// Message of SQLite about a file that it found damaged.
    private(set) var damage: String?
    private var fault: Fault?
    /// Number of calls that pass before the fault, of those in which it can occur.
    private var wait: UInt32 = 0
    /// Whether the fault occurs after the commit that is under way.
    private var isDue = false
    /// Commits that a power cut may take.
    private var unsynced = 0
    /// Whether a process has died in commits before they were synced. The next server finds these commits, and its
    /// answers rely on them.
    private(set) var hasUnsyncedDeath = false
    /// Data version of SQLite after the last commit that changed something.
    private var dataVersion: Int64?
    /// Number of commits and of other changes of the file so far.
    private var version = 0
    /// Connection of the simulation itself. While it is open, no other connection moves the log into the database when
    /// it closes.
    private var database: Database?
    private var found: (version: Int, rows: Rows)?
    /// Whether the process that uses the catalog is dead.
    var isDead: () -> Bool = { false }
    var die: () -> Void = {}

    init(_ directory: String, forgetsIntended: Bool = false) throws {
        mkdir(directory, 0o700)
        path = directory + "/" + Catalog.fileName
        self.forgetsIntended = forgetsIntended
        let file = creat(path, 0o600)
        let written = Self.template.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        close(file)
        guard written == Self.template.count, written > 0 else { throw Promises.Broken("no catalog can be made") }
        try look()
        if forgetsIntended {
            try database?.execute(
                """
                CREATE TRIGGER forget AFTER INSERT ON intended BEGIN DELETE FROM intended WHERE number = new.number; END
                """)
        }
    }

    /// Opens the catalog for a server that starts.
    func open() throws -> Catalog {
        // Connections of an earlier server may still be open.
        catalog?.abandon()
        mend()
        servers += 1
        var calls = DatabaseCalls(
            failure: { [self, servers] call in servers == self.servers ? failure(of: call) : Self.failed },
            committed: { [self] isSynced in if isSynced { (unsynced, hasUnsyncedDeath) = (0, false) } })
        calls.lateFailure = { [self] in failureBehindCommit() }
        let made = Catalog(path: path, isDurable: true, calls: calls, retryInterval: 0) { [self] damage in
            self.damage = damage.error.message
        }
        catalog = made
        return made
    }

    // MARK: Faults

    /// - Parameters:
    ///   - kind: number of the fault.
    ///   - calls: calls that pass before the fault.
    func fail(_ kind: UInt32, after calls: UInt32) {
        let fault = Fault.allCases[Int(kind) % Fault.allCases.count]
        arm(fault, after: fault == .step ? calls : calls % 4)
    }

    /// The process dies in one of the next commits, unless another fault is armed.
    func mayDie(_ number: UInt32) {
        guard fault == nil else { return }
        let deaths = Fault.deaths
        arm(deaths[Int(number) % deaths.count], after: number / UInt32(deaths.count) % 4)
    }

    /// Cancels the death of the process, but no other fault.
    func mayLive() {
        if fault?.isDeath ?? false { mend() }
    }

    func mend() { (fault, isDue) = (nil, false) }

    private func arm(_ fault: Fault, after calls: UInt32) { (self.fault, wait) = (fault, calls) }

    private func failure(of call: DatabaseCalls.Call) -> Int32 {
        guard !isDead() else { return Self.failed }
        guard let fault, (call == .commit) == (fault != .step) else { return 0 }
        guard wait == 0 else {
            wait -= 1
            return 0
        }
        guard !fault.isLate else {
            isDue = true
            return 0
        }
        return strike(fault)
    }

    private func failureBehindCommit() -> Int32 {
        version += 1
        let now = try? database?.execute("PRAGMA data_version")
        // A commit that changes nothing is not in the log.
        if now == nil || now != dataVersion { unsynced += 1 }
        dataVersion = now
        guard isDue, let fault else { return 0 }
        if fault == .deathBehind { unsynced = 0 }
        return strike(fault)
    }

    private func strike(_ fault: Fault) -> Int32 {
        mend()
        if fault.isDeath { die() } else { hasFailed = true }
        if fault == .deathInSync { hasUnsyncedDeath = true }
        return Self.failed
    }

    // MARK: Files

    /// Drops commits that the disk has not kept. The process is dead.
    func cutPower(_ random: inout SplitMix64) throws {
        mend()
        guard unsynced > 0 else { return }
        catalog?.abandon()
        database?.leaveAlone()
        stop()
        let ends = LogEnds(Self.content(of: path + "-wal"))
        let lost = min(unsynced, ends.commits.count) - Int(random.next() % UInt64(unsynced + 1))
        if lost > 0, !ends.mayBeInDatabase {
            truncate(path + "-wal", off_t(ends.commits.dropLast(lost).last ?? 0))
            unlink(path + "-shm")
        }
        (unsynced, version, hasUnsyncedDeath) = (0, version + 1, false)
        try look()
    }

    private static func content(of path: String) -> [UInt8] {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        let size = max(0, Int(lseek(file, 0, SEEK_END)))
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, size, 0))
        }
    }

    // MARK: Looking

    private func look() throws {
        let database = try Database(path: path, called: "catalog")
        // A connection holds a file only after its first read.
        try database.execute("SELECT count(*) FROM uploads")
        self.database = database
        dataVersion = try database.execute("PRAGMA data_version")
    }

    /// Lets another program open the file beside the server. That program may write to it.
    func beside(_ body: (PathOwners) throws -> Void) throws {
        let before = try database?.execute("PRAGMA data_version")
        try body(try PathOwners(path: path))
        guard let after = try database?.execute("PRAGMA data_version"), after != before else { return }
        // The other program syncs all its commits. Its commit must not count as the server's own at the next look.
        (version, unsynced, dataVersion) = (version + 1, 0, after)
    }

    /// Closes the file, which no server uses any more.
    func stop() { (database, found) = (nil, nil) }

    private struct Rows {
        /// Entries in the order in which the catalog first recorded them.
        var entries: [CatalogEntry] = []
        /// Files that the catalog has recorded as rotten.
        var rotten: [ContentVersion] = []
        /// Whether the outcome of a change is unknown.
        var hasNotes = false

        init(_ database: Database) throws {
            var places: [UploadID: Int] = [:]
            for entry in try CatalogEntry.all(in: database) {
                if let place = places[entry.id] {
                    entries[place] = entry
                } else {
                    places[entry.id] = entries.count
                    entries.append(entry)
                }
            }
            let rows = try Statement("SELECT object, revision, size FROM rotten", in: database)
            while try rows.next() {
                rotten.append(
                    ContentVersion(
                        object: UInt64(bitPattern: rows.integer(0)), revision: rows.integer(1), touch: 0,
                        size: UInt64(rows.integer(2))))
            }
            hasNotes = try database.execute("SELECT 1 FROM intended LIMIT 1") != nil
        }
    }

    /// All rows of the catalog, read without the server; nil if SQLite cannot read them.
    private var rows: Rows? {
        if let found, found.version == version { return found.rows }
        guard let database, let rows = try? Rows(database) else { return nil }
        found = (version, rows)
        return rows
    }

    private var entries: [CatalogEntry] { rows?.entries ?? [] }

    /// Whether the catalog has recorded a file as rotten.
    func isRotten(_ file: ContentVersion) -> Bool {
        rows?.rotten.contains { $0.hasSameContent(as: file) } ?? false
    }

    /// Whether the catalog has notes of changes whose outcome is unknown.
    var hasNotes: Bool { rows?.hasNotes ?? true }

    subscript(id: UploadID) -> CatalogEntry? { entries.first { $0.id == id } }

    /// - Returns: number of entries before that of an id; nil if the id has no entry.
    func place(of id: UploadID) -> Int? { entries.firstIndex { $0.id == id } }

    /// Whether an entry says that an object is at a path.
    func says(_ object: UInt64, at path: String) -> Bool {
        entries.contains { $0.path == path && $0.version?.object == object }
    }

    /// Paths at which the entries say that an object is.
    func paths(of object: UInt64) -> [String] { entries.filter { $0.version?.object == object }.map(\.path) }

    /// Whether an upload is recorded for a file in its present state, whose times and content no program has changed
    /// since.
    func knows(_ path: String, _ file: ContentVersion) -> Bool {
        entries.contains { $0.path == path && $0.version?.hasSameContent(as: file) ?? false }
    }

    /// Uploads that have stored a file under a path, the oldest first.
    func stored(at path: String) -> [CatalogEntry] {
        entries.filter { $0.path == path && $0.state == .committed }
    }

    /// Whether a file below a folder is recorded with an id that is not among these.
    func hasStranger(in folder: String, but ids: Set<UploadID>) -> Bool {
        entries.contains { $0.path.hasPrefix(folder.isEmpty ? "" : folder + "/") && !ids.contains($0.id) }
    }

    /// Whether a server has recorded uploads that it cannot find by path yet.
    var hasUnindexed: Bool { catalog?.hasUnindexed ?? false }
}

/// Offsets at which commits end in a log of SQLite (sqlite.org/fileformat.html#walformat).
private struct LogEnds {
    private static let headerSize = 32
    private static let frameHeaderSize = 24
    /// Frames after which SQLite copies the log into the database (`DatabaseFile`).
    private static let mostFrames = 1000

    /// Offsets behind the last frame of each commit, in order.
    var commits: [Int] = []
    /// Whether a part of the log may be in the database, which would be torn without the log.
    let mayBeInDatabase: Bool

    init(_ log: [UInt8]) {
        guard log.count > Self.headerSize else {
            mayBeInDatabase = true
            return
        }
        func word(_ offset: Int) -> UInt32 { log[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        let frame = Self.frameHeaderSize + Int(word(8))
        mayBeInDatabase = log.count >= Self.headerSize + Self.mostFrames * frame
        var offset = Self.headerSize
        // Later frames have other salts: they remain from an earlier log.
        while offset + frame <= log.count, log[offset + 8..<offset + 16] == log[16..<24] {
            if word(offset + 4) != 0 { commits.append(offset + frame) }
            offset += frame
        }
    }
}
