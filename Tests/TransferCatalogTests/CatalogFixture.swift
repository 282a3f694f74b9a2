import TransferDatabase
import Glibc
import Synchronization
import Testing
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferCatalog

/// A catalog in a new directory, and the damage that it reports; or records in memory, if the suite asks for them.
final class CatalogFixture: Sendable {
    let directory: TemporaryDirectory
    let path: String
    private let uploads = MemoryUploads()
    private let reports = Locked([RecordsDamage]())

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path(Catalog.fileName)
    }

    var damages: [RecordsDamage] { reports.withLock { $0 } }

    /// Names of all files in the directory.
    var names: Set<String> {
        guard let stream = opendir(directory.path) else { return [] }
        defer { closedir(stream) }
        var names: Set<String> = []
        while let entry = readdir(stream) {
            names.insert(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
                })
        }
        return names.subtracting([".", ".."])
    }

    /// Opens the records, for the first time or again.
    func open(isDurable: Bool = true) -> any UploadRecords {
        EachKindOfRecords.isMemory ? MemoryRecords(uploads) : openDatabase(isDurable: isDurable)
    }

    func openDatabase(_ calls: DatabaseCalls = DatabaseCalls(), isDurable: Bool = true) -> Catalog {
        let file = CatalogFile(path: path, isDurable: isDurable, calls: calls)
        return Catalog(
            CatalogConnections(file, retryInterval: 0) { damage in self.reports.withLock { $0.append(damage) } })
    }

    /// Whether a table has `count` rows; records in memory have no tables, so the answer is then true.
    func hasRows(_ count: Int64, in table: String, where condition: String = "1") throws(RecordsError) -> Bool {
        if EachKindOfRecords.isMemory { return true }
        return try database().execute("SELECT count(*) FROM \(table) WHERE \(condition)") == count
    }

    /// A separate connection, like that of another program.
    func database() throws(RecordsError) -> Database {
        try Database(path: path, called: Catalog.name, calls: DatabaseCalls())
    }

    func write(_ bytes: [UInt8], at offset: Int = 0, truncating: Bool = true, to suffix: String = "") {
        let number = Glibc.open(path + suffix, O_WRONLY | O_CREAT | (truncating ? O_TRUNC : 0), 0o600)
        _ = bytes.withUnsafeBytes { pwrite(number, $0.baseAddress, $0.count, off_t(offset)) }
        close(number)
    }

    func size(_ suffix: String = "") -> Int {
        var status = stat()
        return stat(path + suffix, &status) == 0 ? Int(status.st_size) : 0
    }
}

extension CatalogEntry {
    /// An entry with a value in nearly every field.
    static func sample(_ number: Int, id: UploadID = .random()) -> CatalogEntry {
        CatalogEntry(
            id: id, state: .committed, path: "folder/file-\(number) ü.txt", kind: .text, size: UInt64(number),
            digest: Digest(.xxh128, Array(repeating: UInt8(truncatingIfNeeded: number), count: 16)), isDurable: true,
            sender: "127.0.0.1:5000", client: number.isMultiple(of: 3) ? .max - UInt64(number) : nil,
            begun: 1_700_000_000_123_456_789, committed: 1_700_000_001_000_000_001,
            run: .max - UInt64(number),
            version: ContentVersion(object: .max, revision: .min, touch: -1, size: UInt64(number)),
            receipt: number.isMultiple(of: 2) ? .max - UInt64(number) : nil, hasReplaced: number.isMultiple(of: 5))
    }

    /// Uploads that were signed together, with one unsigned upload between them.
    static func signed(_ count: Int, from number: UInt64) -> (receipts: SignedBatch, entries: [CatalogEntry]) {
        var entries = (0..<count).map { index in
            var entry = sample(index)
            entry.receipt = number + UInt64(index)
            return entry
        }
        let receipts = SignedBatch(
            number: number, time: 1_700_000_000_123, count: count, signature: Array(0..<64), sender: "ü:5000")
        var other = sample(count)
        other.receipt = nil
        entries.insert(other, at: count / 2)
        return (receipts, entries)
    }
}

extension UploadRecords {
    /// - Returns: nil for an unknown ID.
    func entry(for id: UploadID) throws(RecordsError) -> CatalogEntry? { try entries(for: [id]).first ?? nil }

    @discardableResult
    func record(_ entries: [CatalogEntry]) throws(RecordsError) -> Bool { try record(entries, with: nil) }

    func recordUnfinished(_ uploads: [UnfinishedUpload]) throws(RecordsError) {
        try recordUnfinished(uploads, forgetting: [])
    }

    /// Forgets the acknowledgements for paths.
    func forget(_ paths: [String]) throws(RecordsError) {
        var changes = KnownChanges()
        changes.replaced = paths.map { KnownChanges.Replaced($0, at: .max) }
        try complete(.none, changes)
    }
}

/// Runs each test of a suite with a database and with records in memory: both have to give the same results.
struct EachKindOfRecords: SuiteTrait, TestTrait, TestScoping {
    @TaskLocal static var isMemory = false

    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil, !test.traits.contains(where: { $0 is DatabaseOnly }) else { return try await function() }
        for isMemory in [false, true] { try await Self.$isMemory.withValue(isMemory) { try await function() } }
    }
}

/// Runs a test of the suite only with the database, because it reads the file or counts transactions.
struct DatabaseOnly: TestTrait {}

extension Trait where Self == EachKindOfRecords {
    static var overEachKindOfRecords: EachKindOfRecords { EachKindOfRecords() }
}

extension Trait where Self == DatabaseOnly {
    static var databaseOnly: DatabaseOnly { DatabaseOnly() }
}
