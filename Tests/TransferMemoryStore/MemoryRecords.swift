import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// Keeps records of uploads in memory. Each call is one transaction under the lock of the uploads. Calls fail only
/// after `close`.
package final class MemoryRecords: UploadRecords {
    private let uploads: MemoryUploads
    private let isClosed = Atomic(false)

    package let fault: RecordsError? = nil
    package let wasEmpty: Bool

    /// - Parameter uploads: the state that earlier records have left.
    package init(_ uploads: MemoryUploads) {
        self.uploads = uploads
        wasEmpty = uploads.state.withLock { state in
            state.index()
            return state.rows.count == 0
        }
    }

    /// Runs `body` as one transaction.
    ///
    /// - Throws: `unavailable` after `close`.
    private func transaction<T: Sendable>(
        _ body: (inout MemoryUploads.State) -> T
    ) throws(RecordsError) -> T {
        try uploads.state.withLock { (state) throws(RecordsError) in
            guard !isClosed.load(ordering: .relaxed) else {
                throw RecordsError(.unavailable, "The catalog is closed: the server has stopped.")
            }
            return body(&state)
        }
    }

    /// Indexes all new entries, and runs `body` in the same transaction.
    private func indexed<T: Sendable>(_ body: (inout MemoryUploads.State) -> T) throws(RecordsError) -> T {
        try transaction { state in
            state.index()
            return body(&state)
        }
    }

    package func close() throws(RecordsError) {
        try indexed { _ in isClosed.store(true, ordering: .relaxed) }
    }
}

// MARK: Uploads

extension MemoryRecords {
    package func record(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError) -> Bool {
        guard !entries.isEmpty else { return false }
        return try transaction { state in
            state.arrivals += entries
            if let receipts {
                let signed = entries.filter { $0.receipt != nil }.map(\.id)
                state.rows.keep(KeptReceipts(receipts, uploads: signed))
            }
            return !state.rotten.isEmpty
        }
    }

    package func recordUnfinished(
        _ unfinished: [UnfinishedUpload], forgetting given: [UploadID]
    ) throws(RecordsError) {
        try transaction { state in
            for upload in unfinished { state.unfinished[upload.id] = upload }
            for id in given { state.unfinished[id] = nil }
        }
    }

    package func unfinished() throws(RecordsError) -> [UnfinishedUpload] {
        try indexed { state in state.unfinished.values.sorted { $0.begun < $1.begun } }
    }

    package func index() throws(RecordsError) { try indexed { _ in } }

    package var hasUnindexed: Bool { uploads.state.withLock { !$0.arrivals.isEmpty } }

    package func entries(for ids: [UploadID]) throws(RecordsError) -> [CatalogEntry?] {
        try transaction { state in
            let arrived = Dictionary(state.arrivals.map { ($0.id, $0) }) { $1 }
            return ids.map { arrived[$0] ?? state.rows[$0] }
        }
    }

    package func entries(at paths: [String]) throws(RecordsError) -> [[CatalogEntry]] {
        try transaction { state in
            paths.map { path in
                CatalogEntry.State.allCases.flatMap { state.rows.newest(at: PathKey(path), $0).map(\.entry) }
            }
        }
    }

    package func stored(at path: String) throws(RecordsError) -> [CatalogEntry] {
        try transaction { $0.rows.newest(at: PathKey(path), .committed).map(\.entry) }
    }

    package func forEachEntry(_ body: (CatalogEntry) -> Void) throws(RecordsError) -> Int {
        for entry in try indexed({ $0.rows.inOrder }) { body(entry) }
        return 0
    }

    package func forEachEntryByPath(_ body: (CatalogEntry) -> Void) throws(RecordsError) {
        let entries = try indexed { state in
            state.rows.paths.flatMap { path in
                let entries = state.rows.at(path).map(\.entry)
                return CatalogEntry.State.allCases.flatMap { state in entries.filter { $0.state == state } }
            }
        }
        for entry in entries { body(entry) }
    }

    package func totals() throws(RecordsError) -> [CatalogEntry.State: CatalogTotals] {
        try indexed { state in
            state.rows.inOrder.reduce(into: [:]) { totals, entry in
                totals[entry.state, default: CatalogTotals()].uploads += 1
                let bytes = totals[entry.state, default: CatalogTotals()].bytes
                totals[entry.state, default: CatalogTotals()].bytes = bytes.addingClamped(entry.size)
            }
        }
    }

    package func count() throws(RecordsError) -> Int { try indexed { $0.rows.count } }

    package func paths(after last: [UInt8]) throws(RecordsError) -> (paths: [String], end: [UInt8]) {
        try indexed { state in
            // No path contains a NUL, so a path with a NUL appended sorts directly behind that path.
            let start = state.rows.firstPath(from: last + [0])
            let paths = state.rows.paths[start...].prefix(Self.pathsAtOnce).map(\.string)
            return (paths, paths.last.map { Array($0.utf8) } ?? last)
        }
    }

    /// The largest number of paths that one call returns.
    private static let pathsAtOnce = 128

    package func pathCount() throws(RecordsError) -> Int { try indexed { $0.rows.paths.count } }
}

// MARK: Folders

extension MemoryRecords {
    /// A page ends after this many uploads, or after this many skipped subfolders.
    private static let pageSize = (uploads: 512, folders: 64)

    package func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles {
        try transaction { state in
            let (prefix, end) = (query.prefix, query.end)
            var (page, uploads, folders) = (KnownFiles(), 0, 0)
            var index = state.rows.firstPath(from: start)
            while index < state.rows.paths.count {
                let path = state.rows.paths[index]
                let bytes = Array(path.string.utf8)
                guard bytes.lexicographicallyPrecedes(end) else { break }
                guard uploads < Self.pageSize.uploads, folders < Self.pageSize.folders else {
                    page.next = bytes
                    break
                }
                let name = bytes.dropFirst(prefix.count)
                if let slash = name.firstIndex(of: UInt8(ascii: "/")) {
                    folders += 1
                    index = state.rows.firstPath(from: bytes[..<slash] + [UInt8(ascii: "/") + 1])
                } else {
                    let entries = CatalogEntry.State.allCases.flatMap { state.rows.newest(at: path, $0) }
                    uploads += entries.count
                    page.files += entries.compactMap { number, entry in
                        KnownFile(entry, number, called: String(decoding: name, as: UTF8.self), for: query)
                    }
                    index += 1
                }
            }
            page.looked = uploads + folders
            return page
        }
    }
}

extension KnownFile {
    /// - Returns: nil for an upload without a digest or a version.
    fileprivate init?(_ entry: CatalogEntry, _ number: Int64, called name: String, for query: KnownFiles.Query) {
        guard let digest = entry.digest, let version = entry.version else { return nil }
        let isOwn = entry.client == query.client && (query.client != nil || entry.sender.hasSameBytes(as: query.sender))
        self.init(
            name: name, id: entry.id, number: number, isOwn: isOwn, isDurable: entry.isDurable,
            function: digest.algorithm.function, version: version)
    }
}

// MARK: Changes

extension MemoryRecords {
    package func intend(_ changes: [IntendedChange]) throws(RecordsError) -> NotedChanges {
        try transaction { $0.intend(changes) }
    }

    package func intended() throws(RecordsError) -> [NotedChange] { try transaction { $0.intended } }

    package func acknowledged(
        below move: PathMove, after noted: NotedChanges
    ) throws(RecordsError) -> [LateUpload] {
        try transaction { $0.acknowledged(below: move, after: noted) }
    }

    package func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(RecordsError) {
        try transaction { $0.complete(noted, changes) }
    }
}

// MARK: Receipts

extension MemoryRecords {
    package func receipts(with number: UInt64) throws(RecordsError) -> KeptReceipts? {
        try transaction { $0.rows.receipts(with: number) }
    }

    package var receiptNumber: UInt64 {
        get throws(RecordsError) { try transaction { $0.receiptNumber } }
    }

    package func keep(receiptNumber: UInt64) throws(RecordsError) {
        try transaction { $0.receiptNumber = receiptNumber }
    }
}

// MARK: Rotten files

extension MemoryRecords {
    package func hasRotten() throws(RecordsError) -> Bool { try transaction { !$0.rotten.isEmpty } }

    package func rotten(_ file: ContentVersion) throws(RecordsError) -> RottenFile? {
        try transaction { $0.rotten[.init(file)].map { RottenFile(version: file, digest: $0) } }
    }

    package func add(rotten files: [RottenFile]) throws(RecordsError) {
        try transaction { $0.add(rotten: files) }
    }

    package func removeRotten(_ files: [ContentVersion]) throws(RecordsError) {
        try transaction { state in for file in files { state.rotten[.init(file)] = nil } }
    }

    package func rottenPaths() throws(RecordsError) -> [(path: String, file: RottenFile)] {
        try indexed { state in
            state.rows.paths.flatMap { path in
                let contents = Set(
                    state.rows.at(path).compactMap { $0.entry.version.map(MemoryUploads.FileContent.init) })
                return contents.compactMap { content in
                    state.rotten[content].map { (path.string, RottenFile(version: content.version, digest: $0)) }
                }
            }
        }
    }
}

// MARK: Copies of a directory

extension MemoryRecords {
    package func home() throws(RecordsError) -> KnownHome? { try transaction { $0.home } }

    package func keep(_ home: KnownHome, rotten: [RottenFile], voidsOthers: Bool) throws(RecordsError) {
        try transaction { state in
            state.home = home
            if voidsOthers { state.rotten = [:] }
            state.add(rotten: rotten)
        }
    }

    package func adopt(_ adoptions: Adoptions) throws(RecordsError) {
        try indexed { state in
            for file in adoptions.files { state.adopt(file) }
            state.add(rotten: adoptions.rotten)
        }
    }

    package func endAdoption() throws(RecordsError) {
        try transaction { state in state.home = state.home.map { KnownHome($0.home, isAdopting: false) } }
    }
}

extension MemoryUploads.State {
    fileprivate mutating func add(rotten files: [RottenFile]) {
        for file in files { rotten[.init(file.version)] = file.digest }
    }

    /// Sets the version of the file's uploads to the version in the copy, and removes the mark of rot from that
    /// version.
    fileprivate mutating func adopt(_ file: AdoptedFile) {
        let known = rows.at(PathKey(file.path))
        guard !known.isEmpty else { return }
        for row in known {
            let isSame = row.entry.version?.hasSameRevision(as: file.version) ?? false
            guard isSame, row.entry.digest == file.digest else { continue }
            var adopted = row.entry
            adopted.version = file.version
            rows.put(adopted, at: row.number)
        }
        rotten[.init(file.version)] = nil
    }
}
