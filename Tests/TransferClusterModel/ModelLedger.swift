package import TransferCluster
package import TransferModel
package import TransferPorts
import TransferSystem

/// The database of a cluster in memory, for tests and for the simulator. All servers of a cluster share one.
package final class ModelDatabase: Sendable {
    private let rows = Locked(ModelRows())
    private let restorations = Locked(0)
    private let clock: @Sendable () -> Int64

    /// - Parameter clock: the database's clock; UTC, in nanoseconds since 1970.
    package init(clock: @escaping @Sendable () -> Int64) { self.clock = clock }

    /// Runs one serial transaction: if `body` throws, no row has changed.
    fileprivate func transaction<T: Sendable>(
        _ body: (inout ModelRows, Int64) throws(LedgerError) -> T
    ) throws(LedgerError) -> T {
        let moment = clock()
        return try rows.withLock { (rows) throws(LedgerError) in try body(&rows, moment) }
    }

    /// All rows as they are now. A later `restore` makes a database that was restored from a backup, or a standby that
    /// has missed the last commits.
    package var contents: ModelRows { rows.withLock { $0 } }

    package func restore(_ contents: ModelRows) {
        rows.withLock { $0 = contents }
        restorations.withLock { $0 += 1 }
    }

    /// The number of databases that have taken the place of this one, all of which the servers notice at once.
    fileprivate var term: LedgerTerm { LedgerTerm(restorations.withLock { $0 }) }

    /// Verifies what has to hold between all calls.
    ///
    /// - Returns: a sentence for each fault; empty for sound rows.
    package func check() -> [String] { contents.check() }
}

/// The ledger of one server over a database in memory. Each call is one serial transaction.
package final class ModelLedger: ClusterLedger {
    /// Which method of the ledger was called.
    package enum Call: String, CaseIterable, Sendable {
        case look, nodes, list, paths, extents, sum, files, apply, open, epochs, closeEpochs, known, noteSwept, unused
        case forget, adopt, sparse, uses, rewrite, placed, discardContents
        case begin, upload, takeOver, replace, uploads, declare, declared, entriesByID, entriesOfNodes, entriesInOrder
        case entriesInFolder, use, totals, receipts, reserveReceipts, mailFacts, applyMail, waiting, inbox
        case sent, openMails, overdueMail, forgetMail, people
        case idlePeople, forgetPeople, keepPeople, rotten, hasRotten, allRotten, mark, removeMarks
        case accessLists, replaceLists, awaitDurability

        /// Whether the call may change rows, so that its outcome can be unknown.
        package var changes: Bool {
            switch self {
            case .apply, .open, .closeEpochs, .noteSwept, .forget, .adopt, .rewrite, .discardContents, .begin,
                .takeOver,
                .replace, .declare, .reserveReceipts, .mark, .removeMarks, .replaceLists, .applyMail, .forgetMail,
                .forgetPeople,
                .keepPeople:
                true
            default: false
            }
        }
    }

    /// What goes wrong in a call.
    package enum Fault: Sendable {
        /// The call throws `unavailable` and changes nothing.
        case before
        /// The call makes its changes and throws `unknown`; a call that only reads throws `unavailable`.
        case after
        /// A call that compares rows throws `conflict` and changes nothing; other calls throw `unavailable`.
        case conflict
        /// A call that may change rows throws this and changes nothing; other calls succeed.
        case refused(LedgerError.Reason)
    }

    private let database: ModelDatabase
    private let fault: @Sendable (Call) -> Fault?
    private let isHeard: @Sendable (Call) -> Bool

    /// Both closures are called without a lock.
    ///
    /// - Parameters:
    ///   - fault: decides for each call what goes wrong; nil if nothing does.
    ///   - isHeard: called when other servers can see the changes of a call; returns whether the answer arrives.
    package init(
        _ database: ModelDatabase, fault: @escaping @Sendable (Call) -> Fault? = { _ in nil },
        isHeard: @escaping @Sendable (Call) -> Bool = { _ in true }
    ) {
        (self.database, self.fault, self.isHeard) = (database, fault, isHeard)
    }

    func run<T: Sendable>(
        _ call: Call, _ body: (inout ModelRows, Int64) throws(LedgerError) -> T
    ) throws(LedgerError) -> T {
        var isLost = false
        switch fault(call) {
        case .conflict? where [.apply, .rewrite, .replace, .replaceLists, .applyMail].contains(call):
            throw LedgerError(.conflict, "A row has changed.")
        case .before?, .conflict?: throw LedgerError(.unavailable, "The database does not answer.")
        case .after?: isLost = true
        case .refused(let reason)?: if call.changes { throw LedgerError(reason, "The database takes no changes.") }
        case nil: break
        }
        let result = try database.transaction(body)
        guard isHeard(call), !isLost else {
            throw LedgerError(call.changes ? .unknown : .unavailable, "The database's answer is lost.")
        }
        return result
    }
}

// MARK: - The tree

extension ModelLedger {
    package func look(_ paths: LedgerPaths) throws(LedgerError) -> [NodeRow?] {
        try run(.look) { rows, _ in
            var found: [NodeRow?] = []
            for step in paths.steps {
                let folder = step.above.map { found[$0]?.number } ?? NodeRow.top
                found.append(folder.flatMap { rows.node(step.name, in: $0) })
            }
            return found
        }
    }

    package func nodes(_ numbers: [UInt64]) throws(LedgerError) -> [NodeRow?] {
        try run(.nodes) { rows, _ in numbers.map { rows.nodes[$0] } }
    }

    package func list(_ folder: UInt64, after name: PathKey?, limit: Int) throws(LedgerError) -> [NodeRow] {
        try run(.list) { rows, _ in rows.page(of: folder, after: name).prefix(max(0, limit)).map { $0 } }
    }

    package func paths(of numbers: [UInt64]) throws(LedgerError) -> [[PathKey]?] {
        try run(.paths) { rows, _ in numbers.map { rows.path(of: $0) } }
    }

    package func extents(of number: UInt64) throws(LedgerError) -> [Extent] {
        try run(.extents) { rows, _ in rows.extents[number] ?? [] }
    }

    package func sum(below folders: [UInt64]) throws(LedgerError) -> (files: Int, bytes: UInt64) {
        try run(.sum) { rows, _ in
            var (files, bytes): (Int, UInt64) = (0, 0)
            var waiting = Array(Set(folders))
            var seen = Set(folders)
            while let folder = waiting.popLast() {
                for number in rows.names[folder, default: [:]].values {
                    if let file = rows.nodes[number]?.file {
                        files += 1
                        bytes += file.size
                    } else if seen.insert(number).inserted {
                        waiting.append(number)
                    }
                }
            }
            return (files, bytes)
        }
    }

    package func files(after number: UInt64, limit: Int) throws(LedgerError) -> [NodeRow] {
        try run(.files) { rows, _ in
            rows.nodes.values.filter { $0.file != nil && $0.number > number }.sorted { $0.number < $1.number }
                .prefix(max(0, limit)).map { $0 }
        }
    }

    package func apply(_ changes: LedgerChanges) throws(LedgerError) {
        if let contradiction = changes.contradiction { throw contradiction }
        try run(.apply) { (rows, moment) throws(LedgerError) in try rows.apply(changes, at: moment) }
    }
}

extension ModelRows {
    /// The nodes in a folder behind a name, in the order of their names.
    fileprivate func page(of folder: UInt64, after name: PathKey?) -> [NodeRow] {
        names[folder, default: [:]].filter { entry in name.map { $0 < entry.key } ?? true }
            .sorted { $0.key < $1.key }.compactMap { nodes[$0.value] }
    }

    /// The newest entries of a file, 64 of each state, the newest first.
    fileprivate func entries(of node: UInt64) -> [LedgerEntry] {
        let all = entriesOfNodes[node, default: []].compactMap { entries[$0] }.sorted { $0.number > $1.number }
        let kept = CatalogEntry.State.allCases.flatMap { state in all.filter { $0.entry.state == state }.prefix(64) }
        return kept.sorted { $0.number > $1.number }
    }
}

// MARK: - Objects

extension ModelLedger {
    package func open(_ epoch: EpochRow) throws(LedgerError) {
        try run(.open) { (rows, moment) throws(LedgerError) in
            guard rows.epochs[epoch.number] == nil else {
                throw LedgerError(.conflict, "There is an epoch \(epoch.number) already.")
            }
            rows.epochs[epoch.number] = EpochRow(
                number: epoch.number, key: epoch.key, server: epoch.server, opened: moment)
        }
    }

    package func adopt(_ epochs: [EpochRow], _ objects: [ObjectRow]) throws(LedgerError) {
        if let contradiction = EpochRow.contradiction(epochs, objects) { throw contradiction }
        try run(.adopt) { (rows, moment) throws(LedgerError) in
            let isKnown =
                epochs.contains { rows.epochs[$0.number] != nil } || objects.contains { rows.objects[$0.number] != nil }
            guard !isKnown, Set(epochs.map(\.number)).count == epochs.count,
                Set(objects.map(\.number)).count == objects.count
            else { throw LedgerError(.conflict, "There is such an epoch or object already.") }
            for epoch in epochs {
                rows.epochs[epoch.number] = EpochRow(
                    number: epoch.number, key: epoch.key, server: epoch.server, opened: moment, state: .swept)
            }
            for object in objects {
                rows.objects[object.number] = ModelRows.Object(row: object, emptied: object.live == 0 ? moment : nil)
            }
        }
    }

    package func epochs(_ numbers: [UInt64]) throws(LedgerError) -> [EpochRow] {
        try run(.epochs) { rows, _ in Set(numbers).sorted().compactMap { rows.epochs[$0] } }
    }

    package func closeEpochs(olderThan age: Int64) throws(LedgerError) -> [EpochRow] {
        try run(.closeEpochs) { rows, moment in
            for (number, epoch) in rows.epochs where epoch.state == .open && moment - epoch.opened > age {
                rows.epochs[number]?.state = .closed
            }
            return rows.epochs.values.filter { $0.state == .closed }.sorted { $0.number < $1.number }
        }
    }

    package func known(_ objects: [ObjectNumber]) throws(LedgerError) -> Set<ObjectNumber> {
        try run(.known) { rows, _ in Set(objects.filter { rows.objects[$0] != nil }) }
    }

    package func noteSwept(_ epoch: UInt64) throws(LedgerError) {
        try run(.noteSwept) { (rows, _) throws(LedgerError) in
            guard let state = rows.epochs[epoch]?.state, state != .open else {
                throw LedgerError(.conflict, "The epoch \(epoch) is not closed.")
            }
            rows.epochs[epoch]?.state = .swept
        }
    }

    package func unused(for age: Int64, limit: Int) throws(LedgerError) -> [ObjectNumber] {
        try run(.unused) { rows, moment in
            rows.objects.values.compactMap { object in object.emptied.map { (since: $0, object.row.number) } }
                .filter { moment - $0.since >= age && rows.epochs[$0.1.epoch]?.state != .open }.sorted {
                    ($0.since, $0.1) < ($1.since, $1.1)
                }
                .prefix(max(0, limit)).map(\.1)
        }
    }

    package func forget(_ objects: [ObjectNumber]) throws(LedgerError) {
        try run(.forget) { rows, _ in
            for number in objects where rows.objects[number]?.row.live == 0 { rows.objects[number] = nil }
        }
    }
}

// MARK: - Unfinished uploads

extension ModelLedger {
    package func begin(
        _ upload: OpenUploadRow, limit: Int
    ) throws(LedgerError) -> (row: OpenUploadRow, isNew: Bool) {
        try run(.begin) { (rows, _) throws(LedgerError) in
            if let found = rows.uploads[upload.id] { return (found.row, false) }
            guard rows.uploads.count < limit else {
                throw LedgerError(.full, "There are \(rows.uploads.count) unfinished uploads; the limit is \(limit).")
            }
            rows.uploads[upload.id] = ModelRows.Upload(row: upload, parts: [])
            return (upload, true)
        }
    }

    package func upload(_ id: UploadID) throws(LedgerError) -> (row: OpenUploadRow, parts: [PartRow])? {
        try run(.upload) { rows, _ in rows.uploads[id].map { ($0.row, $0.parts) } }
    }

    package func epoch(
        of id: UploadID, _ range: Range<UInt64>
    ) throws(LedgerError) -> (epoch: UInt64, hasParts: Bool)? {
        try run(.upload) { rows, _ in
            rows.uploads[id].map { upload in
                (upload.row.epoch, upload.parts.contains { $0.part.range.overlaps(range) })
            }
        }
    }

    package func takeOver(_ id: UploadID) throws(LedgerError) -> (row: OpenUploadRow, parts: [PartRow])? {
        try run(.takeOver) { rows, _ in
            rows.uploads[id]?.row.epoch += 1
            return rows.uploads[id].map { ($0.row, $0.parts) }
        }
    }

    package func replace(
        _ range: Range<UInt64>, by part: PartRow?, _ objects: [ObjectRow], in upload: OpenUploadRow, epoch: UInt64?
    ) throws(LedgerError) {
        if let contradiction = upload.contradiction(range, part, objects, epoch: epoch) { throw contradiction }
        try run(.replace) { (rows, moment) throws(LedgerError) in
            try rows.checkOpen(epoch.map { [$0] } ?? [])
            try rows.replace(range, by: part, objects, in: upload, at: moment)
        }
    }

    package func uploads() throws(LedgerError) -> [OpenUploadRow] {
        try run(.uploads) { rows, _ in
            rows.uploads.values.map(\.row).sorted { ($0.id.high, $0.id.low) < ($1.id.high, $1.id.low) }
        }
    }
}

extension ModelLedger {
    package func declare(_ uploads: [UnfinishedUpload], forgetting given: [UploadID]) throws(LedgerError) {
        try run(.declare) { rows, _ in
            for upload in uploads { rows.declared[upload.id] = upload }
            for id in given { rows.declared[id] = nil }
        }
    }

    package func declared() throws(LedgerError) -> [UnfinishedUpload] {
        try run(.declared) { rows, _ in rows.declared.values.sorted { $0.begun < $1.begun } }
    }
}

// MARK: - Acknowledged uploads

extension ModelLedger {
    package func entries(_ ids: [UploadID]) throws(LedgerError) -> [LedgerEntry?] {
        try run(.entriesByID) { rows, _ in ids.map { rows.entries[$0] } }
    }

    package func entries(
        _ ids: [UploadID], looking paths: LedgerPaths
    ) throws(LedgerError) -> (entries: [LedgerEntry?], nodes: [NodeRow?]) {
        (try entries(ids), try look(paths))
    }

    package func entries(of nodes: [UInt64]) throws(LedgerError) -> [[LedgerEntry]] {
        try run(.entriesOfNodes) { rows, _ in nodes.map { rows.entries(of: $0) } }
    }

    package func entries(after number: Int64, limit: Int) throws(LedgerError) -> [LedgerEntry] {
        try run(.entriesInOrder) { rows, _ in
            rows.entries.values.filter { $0.number > number }.sorted { $0.number < $1.number }.prefix(max(0, limit))
                .map { $0 }
        }
    }

    package func entries(
        in folder: UInt64, after name: PathKey?, limit: Int
    ) throws(LedgerError) -> [(node: NodeRow, entries: [LedgerEntry])] {
        try run(.entriesInFolder) { rows, _ in
            rows.page(of: folder, after: name).filter { $0.file != nil }.prefix(max(0, limit))
                .map { ($0, rows.entries(of: $0.number)) }
        }
    }

    package func use(of client: UInt64, outside excluded: [UInt64]) throws(LedgerError) -> StoredUse {
        try run(.use) { rows, _ in
            var use = StoredUse()
            var (files, folders): (Set<UInt64>, Set<UInt64>) = ([], [])
            for entry in rows.entries.values where entry.entry.client == client {
                guard let node = rows.nodes[entry.node], let size = node.file?.size else { continue }
                use.entries += 1
                use.pathBytes += UInt64(node.name.string.utf8.count)
                var folder = node.folder
                while let above = rows.nodes[folder] {
                    use.pathBytes += UInt64(above.name.string.utf8.count + 1)
                    folders.insert(folder)
                    folder = above.folder
                }
                if files.insert(node.number).inserted { (use.files, use.bytes) = (use.files + 1, use.bytes + size) }
            }
            use.folders = UInt64(folders.subtracting(excluded).count)
            return use
        }
    }

    package func totals() throws(LedgerError) -> [CatalogEntry.State: CatalogTotals] {
        try run(.totals) { rows, _ in
            var totals: [CatalogEntry.State: CatalogTotals] = [:]
            for entry in rows.entries.values {
                totals[entry.entry.state, default: CatalogTotals()].uploads += 1
                totals[entry.entry.state]?.bytes += entry.entry.size
            }
            return totals
        }
    }

    package func receipts(with number: UInt64) throws(LedgerError) -> KeptReceipts? {
        try run(.receipts) { rows, _ in rows.receipts.values.first { $0.contain(number) } }
    }

    package func reserveReceipts(_ count: Int64) throws(LedgerError) -> UInt64 {
        try run(.reserveReceipts) { rows, _ in
            defer { rows.nextReceipt += UInt64(max(0, count)) }
            return rows.nextReceipt
        }
    }
}

// MARK: - Rotten files

extension ModelLedger {
    package func rotten(_ nodes: [UInt64]) throws(LedgerError) -> [UInt64: Digest] {
        try run(.rotten) { rows, _ in
            Dictionary(nodes.compactMap { number in rows.rotten(number).map { (number, $0) } }) { $1 }
        }
    }

    package func hasRotten() throws(LedgerError) -> Bool {
        try run(.hasRotten) { rows, _ in rows.nodes.values.contains { $0.file?.isRotten ?? false } }
    }

    package func allRotten() throws(LedgerError) -> [UInt64: Digest] {
        try run(.allRotten) { rows, _ in
            Dictionary(rows.nodes.keys.compactMap { number in rows.rotten(number).map { (number, $0) } }) { $1 }
        }
    }

    package func mark(rotten files: [UInt64]) throws(LedgerError) {
        try run(.mark) { rows, _ in for number in files { rows.mark(number, isRotten: true) } }
    }

    package func removeMarks(_ nodes: [UInt64]) throws(LedgerError) {
        try run(.removeMarks) { rows, _ in for number in nodes { rows.mark(number, isRotten: false) } }
    }

    package func accessLists(_ names: [String]) throws(LedgerError) -> [AccessListRow] {
        try run(.accessLists) { rows, _ in names.map { rows.lists[$0] ?? AccessListRow($0, [], revision: 0) } }
    }

    package func replace(_ lists: [AccessListRow]) throws(LedgerError) {
        try run(.replaceLists) { (rows, _) throws(LedgerError) in
            for list in lists where (rows.lists[list.name]?.revision ?? 0) != list.revision {
                throw LedgerError(.conflict, "The list \(list.name) has changed.")
            }
            for list in lists {
                rows.lists[list.name] = AccessListRow(list.name, list.content, revision: list.revision + 1)
            }
        }
    }

    package var term: LedgerTerm { database.term }

    package func awaitDurability(of term: LedgerTerm) throws(LedgerError) {
        try run(.awaitDurability) { _, _ in }
        guard term == self.term else { throw LedgerError(.unavailable, "Another database has answered.") }
    }
}
