import Glibc
import TransferCatalog
import TransferDatabase
import TransferModel
import TransferPorts
import TransferTestSupport

/// The catalog of a simulated server: the real one, on SQLite in memory, whose calls fail when the simulation says so.
///
/// **What a power cut takes.** A commit with a sync that succeeded makes itself and all commits before it durable. Until the
/// next one of these, commits without a sync, and those whose sync failed, are on disk or not: each power cut keeps the oldest
/// of them up to a point that it chooses, as SQLite finds them in its log afterwards
/// (sqlite.org/pragma.html#pragma_synchronous).
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedCatalog: @unchecked Sendable {
    private enum Fault: UInt32, CaseIterable {
        /// A call other than a commit is not made.
        case step
        /// A commit is not made.
        case commit
        /// A commit is made and its sync fails, so that the server learns of a failure.
        case sync
        /// The process dies before a commit.
        case death
        /// The process dies behind a commit.
        case deathBehind
        /// The process dies while a commit is synced.
        case deathInSync

        static let deaths: [Fault] = [.death, .deathBehind, .deathInSync]

        var isDeath: Bool { Self.deaths.contains(self) }

        /// Whether the commit is in the file behind it.
        var isLate: Bool { self == .sync || self == .deathBehind || self == .deathInSync }
    }

    /// SQLITE_IOERR (sqlite.org/rescode.html#ioerr).
    private static let failed: Int32 = 10

    /// A catalog without a row, which each world begins with: making its tables takes longer than a short run.
    private static let template: [UInt8] = {
        guard let directory = try? TemporaryDirectory(prefersMemory: true) else { return [] }
        let path = directory.path(Catalog.fileName)
        try? Catalog(path: path, isDurable: false) { _ in }.close()
        return content(of: path)
    }()

    private let path: String
    /// A planted mistake: what is intended is not noted.
    private let forgetsIntended: Bool
    /// Servers so far: an earlier one's calls do nothing.
    private var servers = 0
    private weak var catalog: Catalog?
    /// Whether any call has failed so far, so that the server may not know what it knew.
    private(set) var hasFailed = false
    /// What SQLite said of a file that it found damaged.
    private(set) var damage: String?
    private var fault: Fault?
    /// Calls that the fault can meet and that pass before it.
    private var wait: UInt32 = 0
    /// Whether the fault comes behind the commit that is just made.
    private var isDue = false
    /// Commits that a power cut may take.
    private var unsynced = 0
    /// Whether there are commits that a process has died in before they were synced. The next server finds them, and answers by them.
    private(set) var hasUnsyncedDeath = false
    /// What SQLite says of the last commit that has changed something.
    private var dataVersion: Int64?
    /// Commits so far.
    private var version = 0
    /// The simulation's own connection. While it is open, no other one brings the log into the database when it closes.
    private var database: Database?
    private var found: (version: Int, rows: Rows)?
    /// The process that uses it.
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

    /// The catalog of a server that starts.
    func open() throws -> Catalog {
        // What the connections of a server hold that is over may outlive it.
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
    ///   - kind: what fails, by number.
    ///   - calls: calls that pass before.
    func fail(_ kind: UInt32, after calls: UInt32) {
        let fault = Fault.allCases[Int(kind) % Fault.allCases.count]
        arm(fault, after: fault == .step ? calls : calls % 4)
    }

    /// The process dies in one of the next commits, unless something else is to fail.
    func mayDie(_ number: UInt32) {
        guard fault == nil else { return }
        let deaths = Fault.deaths
        arm(deaths[Int(number) % deaths.count], after: number / UInt32(deaths.count) % 4)
    }

    /// The process does not die, though something else may fail.
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

    /// Leaves what the disk has. The process is dead.
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
        // A connection holds a file only when it has read it.
        try database.execute("SELECT count(*) FROM uploads")
        self.database = database
        dataVersion = try database.execute("PRAGMA data_version")
    }

    /// Lets another program look into the file beside the server, which may write to it.
    func beside(_ body: (PathOwners) throws -> Void) throws {
        let before = try database?.execute("PRAGMA data_version")
        try body(try PathOwners(path: path))
        guard let after = try database?.execute("PRAGMA data_version"), after != before else { return }
        // That program syncs all that it commits. Its commit must not count as the server's own when that looks next.
        (version, unsynced, dataVersion) = (version + 1, 0, after)
    }

    /// Lets go of the file, which no server uses any more.
    func stop() { (database, found) = (nil, nil) }

    private struct Rows {
        /// In the order in which it came to know them.
        var entries: [CatalogEntry] = []
        /// Files that it knows to be rotten.
        var rotten: [ContentVersion] = []
        /// Whether it is not known what came of a change.
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

    /// All that is in it, read past the server; nil where SQLite cannot read it.
    private var rows: Rows? {
        if let found, found.version == version { return found.rows }
        guard let database, let rows = try? Rows(database) else { return nil }
        found = (version, rows)
        return rows
    }

    private var entries: [CatalogEntry] { rows?.entries ?? [] }

    /// Whether it knows that a file is rotten.
    func isRotten(_ file: ContentVersion) -> Bool {
        rows?.rotten.contains { $0.hasSameContent(as: file) } ?? false
    }

    /// Whether changes are noted of which it is not known what came of them.
    var hasNotes: Bool { rows?.hasNotes ?? true }

    subscript(id: UploadID) -> CatalogEntry? { entries.first { $0.id == id } }

    /// - Returns: how many entries came before that of an id; nil for one that is not there.
    func place(of id: UploadID) -> Int? { entries.firstIndex { $0.id == id } }

    /// Whether it says that an object is at a path.
    func says(_ object: UInt64, at path: String) -> Bool {
        entries.contains { $0.path == path && $0.version?.object == object }
    }

    /// Where it says that an object is.
    func paths(of object: UInt64) -> [String] { entries.filter { $0.version?.object == object }.map(\.path) }

    /// Whether it has an upload for a file as it is, whose times and content nobody has changed since.
    func knows(_ path: String, _ file: ContentVersion) -> Bool {
        entries.contains { $0.path == path && $0.version?.hasSameContent(as: file) ?? false }
    }

    /// What has stored a file under a path, the oldest first.
    func stored(at path: String) -> [CatalogEntry] {
        entries.filter { $0.path == path && $0.state == .committed }
    }

    /// Whether it knows a file below a folder by another id than these.
    func hasStranger(in folder: String, but ids: Set<UploadID>) -> Bool {
        entries.contains { $0.path.hasPrefix(folder.isEmpty ? "" : folder + "/") && !ids.contains($0.id) }
    }

    /// Whether a server has recorded something that it does not find by its path so far.
    var hasUnindexed: Bool { catalog?.hasUnindexed ?? false }
}

/// Where the commits in a log of SQLite end (sqlite.org/fileformat.html#walformat).
private struct LogEnds {
    private static let headerSize = 32
    private static let frameHeaderSize = 24
    /// Frames behind which SQLite copies the log into the database (`DatabaseFile`).
    private static let mostFrames = 1000

    /// Offsets behind the last frames of commits, in their order.
    var commits: [Int] = []
    /// Whether a part of the log may be in the database, which would be torn without it.
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
        // Frames behind those have other salts: an earlier log has left them.
        while offset + frame <= log.count, log[offset + 8..<offset + 16] == log[16..<24] {
            if word(offset + 4) != 0 { commits.append(offset + frame) }
            offset += frame
        }
    }
}
