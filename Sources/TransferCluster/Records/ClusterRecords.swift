import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// What a cluster remembers of uploads, in the tables that the store writes as well. Safe to use from any thread.
///
/// An entry refers to a file by its number, so a move, a copy or a removal needs no change of entries. An entry whose
/// file has another path than the acknowledged one is found under the new path only, with an ID that no client has.
package final class ClusterRecords: UploadRecords {
    /// Entries that one query returns.
    private static let page = 1000

    private let ledger: any ClusterLedger
    private let isClosed = Atomic(false)
    package let wasEmpty: Bool
    package let fault: RecordsError?

    package init(_ ledger: any ClusterLedger) {
        self.ledger = ledger
        do throws(LedgerError) {
            (wasEmpty, fault) = (try ledger.entries(after: 0, limit: 1).isEmpty, nil)
        } catch {
            (wasEmpty, fault) = (false, RecordsError(ledger: error))
        }
    }

    private func ask<T>(_ body: () throws(LedgerError) -> T) throws(RecordsError) -> T {
        guard !isClosed.load(ordering: .relaxed) else {
            throw RecordsError(.unavailable, "The records are closed: the server has stopped.")
        }
        do throws(LedgerError) { return try body() } catch { throw RecordsError(ledger: error) }
    }

    package func close() throws(RecordsError) { isClosed.store(true, ordering: .relaxed) }

    // MARK: What was acknowledged

    /// Records entries of files that were published before. Uploads are recorded with their publication
    /// (`Settlement.commit`).
    package func record(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError) -> Bool {
        var changes = LedgerChanges()
        changes.entries = entries.compactMap { entry in entry.version.map { EntryRow(entry, node: $0.object) } }
        changes.receipts = receipts
        try ask { () throws(LedgerError) in
            guard !changes.isEmpty else { return }
            let nodes = try ledger.nodes(changes.entries.map(\.node)).compactMap(\.self)
            changes.expected = Dictionary(nodes.map { ($0.number, $0.touch) }) { $1 }
            changes.entries.removeAll { changes.expected[$0.node] == nil }
            try ledger.apply(changes)
        }
        return try hasRotten()
    }

    package func entries(for ids: [UploadID]) throws(RecordsError) -> [CatalogEntry?] {
        try ask { () throws(LedgerError) in
            let term = ledger.term
            return try known(try ledger.entries(ids), since: term)
        }
    }

    package func entries(
        for ids: [UploadID], publishingAt paths: [RelativePath]
    ) throws(RecordsError) -> (entries: [CatalogEntry?], seen: (any SeenPaths)?) {
        var wanted = LedgerPaths()
        for path in paths { wanted.add(path) }
        return try ask { () throws(LedgerError) in
            let term = ledger.term
            let (found, nodes) = try ledger.entries(ids, looking: wanted)
            return (try known(found, since: term), SeenNodes(paths: wanted, nodes: nodes, term: term))
        }
    }

    /// The entries of files that still have the paths that were acknowledged.
    ///
    /// - Parameter term: the term before the entries were looked up.
    private func known(_ found: [LedgerEntry?], since term: LedgerTerm) throws(LedgerError) -> [CatalogEntry?] {
        let files = try files(found.compactMap { $0?.node })
        guard !files.isEmpty else { return found.map { _ in nil } }
        // Another server may have committed them a moment ago.
        try ledger.awaitDurability(of: term)
        return found.map { found in
            guard let found, let file = files[found.node], PathHash(file.path) == found.path else { return nil }
            return found.entry(at: file.path, of: file.node)
        }
    }

    /// The files with these numbers that are still there, and their paths.
    private func files(_ numbers: [UInt64]) throws(LedgerError) -> [UInt64: (node: NodeRow, path: String)] {
        let numbers = Array(Set(numbers))
        guard !numbers.isEmpty else { return [:] }
        let nodes = try ledger.nodes(numbers)
        let paths = try ledger.paths(of: numbers)
        var files: [UInt64: (node: NodeRow, path: String)] = [:]
        for (node, names) in zip(nodes, paths) {
            guard let node, let names else { continue }
            files[node.number] = (node, names.map(\.string).joined(separator: "/"))
        }
        return files
    }

    package func entries(at paths: [String]) throws(RecordsError) -> [[CatalogEntry]] {
        try ask { () throws(LedgerError) in
            var wanted = LedgerPaths()
            let indices = paths.map { text in RelativePath(stored: text).map { wanted.add($0) } }
            let nodes = try ledger.look(wanted)
            let places = zip(paths, indices).map { path, index in (path, index.flatMap { nodes[$0] }) }
            let entries = try ledger.entries(of: places.compactMap { $0.1?.number })
            var rest = entries[...]
            return places.map { path, node in
                guard let node else { return [] }
                return (rest.popFirst() ?? []).map { $0.entry(at: path, of: node) }
            }
        }
    }

    package func stored(at path: String) throws(RecordsError) -> [CatalogEntry] {
        try entries(at: [path])[0].filter { $0.state == .committed }
    }

    package func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles {
        try ask { () throws(LedgerError) in
            var page = KnownFiles()
            let term = ledger.term
            guard let folder = try number(of: query.folder) else { return page }
            let last = start.dropFirst(query.prefix.count)
            let found = try ledger.entries(
                in: folder, after: last.isEmpty ? nil : PathKey(String(decoding: last, as: UTF8.self)), limit: Self.page
            )
            // A client skips a folder whose files are all reported as stored.
            if !found.isEmpty { try ledger.awaitDurability(of: term) }
            for (node, entries) in found {
                page.looked += entries.count
                page.files += entries.compactMap { KnownFile($0, of: node, for: query) }
            }
            if found.count == Self.page, let last = found.last?.node.name {
                page.next = query.prefix + Array(last.string.utf8)
            }
            return page
        }
    }

    private func number(of folder: RelativePath?) throws(LedgerError) -> UInt64? {
        guard let folder else { return NodeRow.top }
        var paths = LedgerPaths()
        let index = paths.add(folder)
        return try ledger.look(paths)[index]?.number
    }

    package func forEachEntry(_ body: (CatalogEntry) -> Void) throws(RecordsError) -> Int {
        var last: Int64 = 0
        while true {
            let found = try ask { () throws(LedgerError) in try ledger.entries(after: last, limit: Self.page) }
            let files = try ask { () throws(LedgerError) -> [UInt64: (node: NodeRow, path: String)] in
                try self.files(found.map(\.node))
            }
            for found in found {
                guard let file = files[found.node] else { continue }
                body(found.entry(at: file.path, of: file.node))
            }
            guard let end = found.last?.number, found.count == Self.page else { return 0 }
            last = end
        }
    }

    /// Goes through the folders from the top down. The paths of one folder are adjacent, and so are the entries of one
    /// path.
    package func forEachEntryByPath(_ body: (CatalogEntry) -> Void) throws(RecordsError) {
        var folders: [(number: UInt64, path: String, after: PathKey?)] = [(NodeRow.top, "", nil)]
        while let folder = folders.popLast() {
            let found = try ask { () throws(LedgerError) in
                try ledger.list(folder.number, after: folder.after, limit: Self.page)
            }
            if found.count == Self.page { folders.append((folder.number, folder.path, found.last?.name)) }
            let entries = try ask { () throws(LedgerError) in try ledger.entries(of: found.map(\.number)) }
            var below: [(UInt64, String, PathKey?)] = []
            for (node, entries) in zip(found, entries) {
                let path = folder.path.isEmpty ? node.name.string : "\(folder.path)/\(node.name.string)"
                if node.isFolder { below.append((node.number, path, nil)) }
                for entry in entries { body(entry.entry(at: path, of: node)) }
            }
            folders += below.reversed()
        }
    }

    package func use(
        of client: UInt64, below top: RelativePath?, besides made: Set<RelativePath>
    ) throws(RecordsError) -> (use: StoredUse, gone: Set<RelativePath>)? {
        try ask { () throws(LedgerError) in
            var paths = LedgerPaths()
            if let top { paths.add(top) }
            var excluded = Set(paths.steps.indices)
            let places = made.map { path in (path, paths.add(path)) }
            excluded.formUnion(places.map(\.1))
            let nodes = try ledger.look(paths)
            let use = try ledger.use(of: client, outside: excluded.compactMap { nodes[$0]?.number })
            return (use, Set(places.lazy.filter { nodes[$0.1] == nil }.map(\.0)))
        }
    }

    package func totals() throws(RecordsError) -> [CatalogEntry.State: CatalogTotals] {
        try ask { () throws(LedgerError) in try ledger.totals() }
    }

    package func count() throws(RecordsError) -> Int {
        try totals().values.reduce(0) { $0 + $1.uploads }
    }

    /// Does nothing: everything that is recorded can be found.
    package func index() throws(RecordsError) {}
    package var hasUnindexed: Bool { false }

    // MARK: Unfinished uploads

    package func recordUnfinished(
        _ uploads: [UnfinishedUpload], forgetting given: [UploadID]
    ) throws(RecordsError) {
        try ask { () throws(LedgerError) in try ledger.declare(uploads, forgetting: given) }
    }

    package func unfinished() throws(RecordsError) -> [UnfinishedUpload] {
        try ask { () throws(LedgerError) in try ledger.declared() }
    }

    // MARK: Changes, which the store records itself

    package func intend(_ changes: [IntendedChange]) throws(RecordsError) -> NotedChanges { .none }
    package func intended() throws(RecordsError) -> [NotedChange] { [] }
    package func acknowledged(
        below move: PathMove, after noted: NotedChanges
    ) throws(RecordsError) -> [LateUpload] { [] }
    package func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(RecordsError) {}

    // MARK: Receipts

    package func receipts(with number: UInt64) throws(RecordsError) -> KeptReceipts? {
        try ask { () throws(LedgerError) in try ledger.receipts(with: number) }
    }

    /// Numbers that one server takes at a time.
    private static let numbersAtOnce: Int64 = 1 << 20

    /// The first of a range of numbers that no other server gives out.
    package var receiptNumber: UInt64 {
        get throws(RecordsError) {
            try ask { () throws(LedgerError) in try ledger.reserveReceipts(Self.numbersAtOnce) }
        }
    }

    package func keep(receiptNumber: UInt64) throws(RecordsError) {}

    // MARK: Rotten files

    package func hasRotten() throws(RecordsError) -> Bool {
        try ask { () throws(LedgerError) in try ledger.hasRotten() }
    }

    package func rotten(_ file: ContentVersion) throws(RecordsError) -> RottenFile? {
        let found = try ask { () throws(LedgerError) in try ledger.rotten([file.object]) }
        return found[file.object].map { RottenFile(version: file, digest: $0) }
    }

    package func add(rotten files: [RottenFile]) throws(RecordsError) {
        try ask { () throws(LedgerError) in try ledger.mark(rotten: files.map(\.version.object)) }
    }

    package func removeRotten(_ files: [ContentVersion]) throws(RecordsError) {
        try ask { () throws(LedgerError) in try ledger.removeMarks(files.map(\.object)) }
    }

    package func rottenPaths() throws(RecordsError) -> [(path: String, file: RottenFile)] {
        try ask { () throws(LedgerError) in
            let marks = try ledger.allRotten()
            let files = try files(Array(marks.keys))
            return files.values.compactMap { node, path in
                marks[node.number].map { (path, RottenFile(version: node.version, digest: $0)) }
            }
        }
    }

    // MARK: Copies of a directory, which a cluster is not

    package func home() throws(RecordsError) -> KnownHome? { nil }
    package func keep(_ home: KnownHome, rotten: [RottenFile], voidsOthers: Bool) throws(RecordsError) {}
    package func paths(after last: [UInt8]) throws(RecordsError) -> (paths: [String], end: [UInt8]) { ([], last) }
    package func pathCount() throws(RecordsError) -> Int { 0 }
    package func adopt(_ adoptions: Adoptions) throws(RecordsError) {}
    package func endAdoption() throws(RecordsError) {}
}

extension LedgerEntry {
    /// The entry with its file's present path and version. If the file was moved since it was acknowledged, no
    /// client has the ID: a repeated upload has to be stored under its own path.
    fileprivate func entry(at path: String, of node: NodeRow) -> CatalogEntry {
        var known = entry
        (known.path, known.version) = (path, node.version)
        if PathHash(path) != self.path { (known.id, known.receipt) = (.random(), nil) }
        return known
    }
}

extension KnownFile {
    /// - Returns: nil for an upload without a digest.
    fileprivate init?(_ found: LedgerEntry, of node: NodeRow, for query: KnownFiles.Query) {
        let entry = found.entry
        guard let digest = entry.digest else { return nil }
        let isOwn = entry.client == query.client && (query.client != nil || entry.sender.hasSameBytes(as: query.sender))
        self.init(
            name: node.name.string, id: entry.id, number: found.number, isOwn: isOwn, isDurable: entry.isDurable,
            function: digest.algorithm.function, version: node.version)
    }
}
