package import TransferCluster
package import TransferModel
package import TransferPorts

/// The rows of a cluster's database in dictionaries. Each method is a part of a transaction; `apply` and `replace`
/// check everything before they change anything.
package struct ModelRows: Sendable {
    package internal(set) var nodes: [UInt64: NodeRow] = [:]
    package internal(set) var extents: [UInt64: [Extent]] = [:]
    package internal(set) var objects: [ObjectNumber: Object] = [:]
    package internal(set) var epochs: [UInt64: EpochRow] = [:]
    package internal(set) var uploads: [UploadID: Upload] = [:]
    package internal(set) var entries: [UploadID: LedgerEntry] = [:]
    package internal(set) var receipts: [UInt64: KeptReceipts] = [:]
    package internal(set) var lists: [String: AccessListRow] = [:]
    var mailRevision: Int64 = 0
    var lastDelivery: UInt64 = 0
    package internal(set) var mails: [UploadID: MailRow] = [:]
    package internal(set) var deliveries: [UInt64: DeliveryRow] = [:]
    var people: [PathKey: Person] = [:]
    var peopleKept = 0
    package internal(set) var declared: [UploadID: UnfinishedUpload] = [:]

    /// The nodes of each folder by their names.
    var names: [UInt64: [PathKey: UInt64]] = [:]

    /// The entries of each file.
    var entriesOfNodes: [UInt64: Set<UploadID>] = [:]

    var lastEntry: Int64 = 0
    var nextReceipt: UInt64 = 1

    /// An object with the time since which nothing refers to it.
    package struct Object: Equatable, Sendable {
        package var row: ObjectRow

        /// By the database's clock; nil while something refers to the object.
        package var emptied: Int64?
    }

    /// A person with the order in which people were entered.
    struct Person: Sendable {
        let person: KnownPerson
        let seen: Int64
        let order: Int
    }

    /// An unfinished upload with its parts, in order.
    package struct Upload: Equatable, Sendable {
        package var row: OpenUploadRow
        package var parts: [PartRow]
    }

    package init() {}

    func node(_ name: PathKey, in folder: UInt64) -> NodeRow? { names[folder]?[name].flatMap { nodes[$0] } }

    func checkOpen(_ wanted: some Sequence<UInt64>) throws(LedgerError) {
        for number in wanted where epochs[number]?.state != .open {
            throw LedgerError(.epochClosed, "The epoch \(number) of this server is closed.")
        }
    }
}

// MARK: - Changes

extension ModelRows {
    /// Makes changes that do not contradict themselves.
    ///
    /// - Parameter moment: the database's clock.
    mutating func apply(_ changes: LedgerChanges, at moment: Int64) throws(LedgerError) {
        // The order of the checks decides which error the caller gets; it is the same in all ledgers.
        try checkOpen(changes.epochs)
        for (number, touch) in changes.expected where nodes[number]?.touch != touch {
            throw LedgerError(.conflict, "Node \(number) has changed.")
        }
        try checkContent(changes)
        try checkNames(changes)
        try checkEmptied(changes)
        let replaceable = changes.replaceableNodes
        for row in changes.storedEntries {
            guard nodes[row.node]?.file != nil || changes.made[row.node] != nil else {
                throw LedgerError(.conflict, "Node \(row.node), which has the content of an upload, is not a file.")
            }
            guard entries[row.entry.id].map({ replaceable.contains($0.node) }) ?? true else {
                throw LedgerError(.conflict, "The upload \(row.entry.id) was stored meanwhile.")
            }
        }
        for (id, epoch) in changes.ended where uploads[id]?.row.epoch != epoch {
            throw LedgerError(.conflict, "The unfinished upload \(id) has another epoch.")
        }
        for (id, written) in changes.untouched where uploads[id]?.row.written != written {
            throw LedgerError(.conflict, "Something was added to the unfinished upload \(id).")
        }
        if let mail = changes.mail { try check(mail) }
        let counts = try liveCounts(changes)

        remove(changes.removed)
        update(changes.updated)
        for (number, node) in changes.made { insert(node, changes.extents[number]) }
        for object in changes.objects where objects[object.number] == nil {
            objects[object.number] = Object(row: object)
        }
        for id in changes.ended.keys { uploads[id] = nil }
        for (number, live) in counts { setLive(number, live, at: moment) }
        record(changes)
        if let mail = changes.mail { make(mail) }
        for number in changes.sound { mark(number, isRotten: false) }
        for entry in changes.entries { declared[entry.entry.id] = nil }
    }

    /// The digest of a file that is marked as rotten.
    func rotten(_ number: UInt64) -> Digest? {
        nodes[number]?.file.flatMap { $0.isRotten ? $0.digest : nil }
    }

    /// Sets or removes the mark of rot, which changes the file, so that no decision about the unmarked file is applied.
    mutating func mark(_ number: UInt64, isRotten: Bool) {
        guard var node = nodes[number], var file = node.file, file.isRotten != isRotten else { return }
        file.isRotten = isRotten
        node.form = .file(file)
        node.touch += 1
        nodes[number] = node
    }

    /// Content never changes, and numbers are given out once.
    private func checkContent(_ changes: LedgerChanges) throws(LedgerError) {
        for (number, node) in changes.updated {
            guard let before = nodes[number], node.hasContent(of: before) else {
                throw LedgerError(.damaged, "Node \(number) was to get other content. This is a bug.")
            }
        }
        for number in changes.made.keys where nodes[number] != nil {
            throw LedgerError(.conflict, "There is a node \(number) already.")
        }
    }

    /// A name in a folder is free, or its node goes away in the same changes.
    private func checkNames(_ changes: LedgerChanges) throws(LedgerError) {
        var taken: [UInt64: Set<PathKey>] = [:]
        for node in Array(changes.updated.values) + Array(changes.made.values) {
            let holder = names[node.folder]?[node.name]
            let isFree = holder.map { changes.removed.contains($0) || changes.updated[$0] != nil } ?? true
            guard isFree, taken[node.folder, default: []].insert(node.name).inserted else {
                throw LedgerError(.conflict, "The name \(node.name.string) is taken.")
            }
        }
    }

    /// A removed folder has no entries besides those that go away in the same changes.
    private func checkEmptied(_ changes: LedgerChanges) throws(LedgerError) {
        for folder in changes.removed {
            for number in names[folder, default: [:]].values where !changes.removed.contains(number) {
                guard let moved = changes.updated[number], moved.folder != folder else {
                    throw LedgerError(.conflict, "Folder \(folder) is not empty.")
                }
            }
        }
    }

    /// The live bytes that objects have after the changes.
    private func liveCounts(_ changes: LedgerChanges) throws(LedgerError) -> [ObjectNumber: UInt64] {
        var net = changes.live
        for extent in changes.ended.keys.flatMap({ uploads[$0]?.parts ?? [] }).flatMap(\.extents) {
            net[extent.object, default: 0] -= Int64(clamping: extent.count)
        }
        return try liveCounts(after: net, changes.objects)
    }

    /// The live bytes that objects have after some are added to them and others removed.
    ///
    /// - Parameter made: new objects with the bytes that they have besides. Another transaction may have recorded an
    ///   object first, with other files.
    private func liveCounts(
        after net: [ObjectNumber: Int64], _ made: [ObjectRow]
    ) throws(LedgerError) -> [ObjectNumber: UInt64] {
        var counts: [ObjectNumber: UInt64] = [:]
        for object in made {
            counts[object.number] = (objects[object.number]?.row.live ?? 0).addingClamped(object.live)
        }
        for (number, change) in net where change != 0 && counts[number] == nil {
            guard let object = objects[number], object.row.live > 0 || change < 0 else {
                throw LedgerError(.conflict, "The object \(number.rawValue) is about to be deleted.")
            }
            counts[number] = object.row.live
        }
        for (number, change) in net {
            guard let count = counts[number] else { continue }
            let sum = Int64(clamping: count).addingReportingOverflow(change)
            guard !sum.overflow, let sum = UInt64(exactly: sum.partialValue) else {
                throw LedgerError(
                    .damaged, "The object \(number.rawValue) has \(count) bytes, and is to get \(change).")
            }
            counts[number] = sum
        }
        return counts
    }

    private mutating func setLive(_ number: ObjectNumber, _ live: UInt64, at moment: Int64) {
        guard var object = objects[number] else { return }
        object.row.live = live
        object.emptied = live > 0 ? nil : object.emptied ?? moment
        objects[number] = object
    }

    private mutating func remove(_ removed: Set<UInt64>) {
        for number in removed {
            guard let node = nodes.removeValue(forKey: number) else { continue }
            unname(node)
            names[number] = nil
            extents[number] = nil
            for id in entriesOfNodes.removeValue(forKey: number) ?? [] { forget(entries.removeValue(forKey: id)) }
        }
    }

    private mutating func update(_ updated: [UInt64: NodeRow]) {
        // All names are given up first, because the nodes may exchange them.
        for number in updated.keys { nodes[number].map { unname($0) } }
        for (number, node) in updated {
            nodes[number] = node
            names[node.folder, default: [:]][node.name] = number
        }
    }

    private mutating func insert(_ node: NodeRow, _ pieces: [Extent]?) {
        nodes[node.number] = node
        names[node.folder, default: [:]][node.name] = node.number
        if let pieces, !pieces.isEmpty { extents[node.number] = pieces }
    }

    private mutating func unname(_ node: NodeRow) {
        names[node.folder]?[node.name] = nil
        if names[node.folder]?.isEmpty == true { names[node.folder] = nil }
    }

    /// Removes the batch that an entry's receipt is in: without the entry, the batch's receipts cannot be made again.
    private mutating func forget(_ entry: LedgerEntry?) {
        guard let number = entry?.entry.receipt, let first = receipts.first(where: { $0.value.contain(number) })?.key
        else { return }
        receipts[first] = nil
    }

    private mutating func record(_ changes: LedgerChanges) {
        let rows = changes.storedEntries
        for row in rows {
            let earlier = entries.removeValue(forKey: row.entry.id)
            if let earlier { entriesOfNodes[earlier.node]?.remove(row.entry.id) }
            forget(earlier)
        }
        for row in rows {
            lastEntry += 1
            entries[row.entry.id] = LedgerEntry(
                number: lastEntry, row.entry.stored, at: PathHash(row.entry.path), of: row.node)
            entriesOfNodes[row.node, default: []].insert(row.entry.id)
        }
        if let kept = changes.storedReceipts { receipts[kept.signedBatch.number] = kept }
    }
}

extension CatalogEntry {
    /// The entry as a ledger returns it: without path, version and the file that it has replaced.
    package var stored: CatalogEntry {
        var entry = self
        (entry.path, entry.version, entry.kept) = ("", nil, nil)
        return entry
    }
}

extension NodeRow {
    /// Whether both have the same form and content.
    fileprivate func hasContent(of other: NodeRow) -> Bool {
        switch (form, other.form) {
        case (.file(var file), .file(let other)):
            (file.command, file.isRotten) = (other.command, other.isRotten)
            return file == other
        default: return form == other.form
        }
    }
}

// MARK: - Unfinished uploads

extension ModelRows {
    mutating func replace(
        _ range: Range<UInt64>, by part: PartRow?, _ made: [ObjectRow], in upload: OpenUploadRow, at moment: Int64
    ) throws(LedgerError) {
        guard var found = uploads[upload.id], found.row.epoch == upload.epoch else {
            throw LedgerError(.conflict, "The unfinished upload \(upload.id) has another epoch.")
        }
        if let append = upload.append {
            guard let recorded = found.row.append, recorded.kept.isBefore(append.kept) else {
                throw LedgerError(.conflict, "The unfinished upload \(upload.id) has a later state.")
            }
            found.row.append?.kept = append.kept
        }
        found.row.reserved = max(found.row.reserved, upload.reserved)
        found.row.written = upload.written

        let kept = found.parts.flatMap { $0.part.range.overlaps(range) ? $0.without(range) : [$0] }
        let parts = kept + (part.map { [$0] } ?? [])
        for object in made where objects[object.number] != nil {
            throw LedgerError(.conflict, "There is an object \(object.number.rawValue) already.")
        }
        var net: [ObjectNumber: Int64] = [:]
        for extent in found.parts.flatMap(\.extents) { net[extent.object, default: 0] -= Int64(clamping: extent.count) }
        for extent in parts.flatMap(\.extents) { net[extent.object, default: 0] += Int64(clamping: extent.count) }
        // New objects bring their own count.
        for object in made { net[object.number] = nil }
        let counts = try liveCounts(after: net, made)
        found.parts = parts.sorted { $0.part.range.lowerBound < $1.part.range.lowerBound }
        uploads[upload.id] = found
        for object in made { objects[object.number] = Object(row: object) }
        for (number, live) in counts { setLive(number, live, at: moment) }
    }
}
