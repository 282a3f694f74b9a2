import TransferModel
package import TransferPorts

extension LedgerChanges {
    /// Why no ledger can make these changes, whatever its rows are: they contradict themselves, or have numbers that a
    /// ledger cannot store. Every ledger refuses them before it looks at rows, because "look again" would never help.
    ///
    /// - Returns: `damaged` with a sentence; nil if the changes are sound.
    package var contradiction: LedgerError? {
        let sentence =
            nodeContradiction ?? extentContradiction ?? objectContradiction ?? entryContradiction
            ?? receiptContradiction
        return sentence.map {
            LedgerError(.damaged, "The server has made changes that contradict themselves: \($0). This is a bug.")
        }
    }

    private var nodeContradiction: String? {
        for number in removed {
            if expected[number] == nil { return "node \(number) is removed without being expected" }
            if updated[number] != nil { return "node \(number) is removed and updated" }
        }
        for (number, node) in updated {
            if expected[number] == nil { return "node \(number) is updated without being expected" }
            if made[number] != nil { return "node \(number) is updated and made" }
            if let fault = fault(of: node, number) { return fault }
        }
        for (number, node) in made {
            if expected[number] != nil { return "node \(number) is made and expected" }
            if let fault = fault(of: node, number) { return fault }
            guard node.folder == NodeRow.top || expected[node.folder] != nil || made[node.folder]?.isFolder == true
            else {
                return "node \(number) is made in folder \(node.folder), which is not expected"
            }
        }
        return expected.keys.first { !LedgerNumber.isStorable($0) }.map { "\($0) is not the number of a node" }
    }

    private func fault(of node: NodeRow, _ number: UInt64) -> String? {
        guard node.number == number, number != NodeRow.top, LedgerNumber.isStorable(number) else {
            return "node \(node.number) has the number \(number)"
        }
        guard node.folder != number, LedgerNumber.isStorable(node.folder), !removed.contains(node.folder) else {
            return "node \(number) is put into folder \(node.folder)"
        }
        guard (1...Limits.pathComponent).contains(node.name.string.utf8.count) else {
            return "node \(number) has a name of \(node.name.string.utf8.count) bytes"
        }
        guard node.permissions <= 0o777, node.modified.nanoseconds < 1_000_000_000 else {
            return "node \(number) has invalid permissions or an invalid time"
        }
        if let file = node.file, file.size > UInt64(Int64.max) { return "node \(number) has \(file.size) bytes" }
        switch node.file?.content {
        case .whole(let object, let start)?:
            guard LedgerNumber.isStorable(start), LedgerNumber.isStorable(object.rawValue) else {
                return "node \(number) begins at \(start) of object \(object.rawValue)"
            }
        case .extents(_, let object)?:
            if !LedgerNumber.isStorable(object.rawValue) { return "node \(number) is described in no object" }
        case nil: break
        }
        return nil
    }

    /// The extents of a file are in order, without overlaps, and have as many bytes as the file's row says.
    private var extentContradiction: String? {
        for number in extents.keys where made[number] == nil { return "node \(number) has extents without being made" }
        for (number, node) in made {
            guard case .extents(let filled, _)? = node.file?.content else {
                if extents[number] != nil { return "node \(number) has extents besides its row" }
                continue
            }
            if let fault = extents[number, default: []].fault(within: 0..<(node.file?.size ?? 0), filled: filled) {
                return "node \(number) \(fault)"
            }
        }
        return nil
    }

    private var objectContradiction: String? {
        var numbers: Set<ObjectNumber> = []
        for object in objects {
            guard numbers.insert(object.number).inserted, object.number != .none else {
                return "object \(object.number.rawValue) is made twice"
            }
            guard epochs.contains(object.number.epoch) else {
                return "object \(object.number.rawValue) is made without its epoch"
            }
            guard object.isStorable else { return "object \(object.number.rawValue) is too large" }
        }
        if let number = live.keys.first(where: { !LedgerNumber.isStorable($0.rawValue) || $0 == .none }) {
            return "\(number.rawValue) is not the number of an object"
        }
        return epochs.first { $0 > EpochRow.greatest }.map { "\($0) is not the number of an epoch" }
    }

    private var entryContradiction: String? {
        if let number = outlived.first(where: { expected[$0] == nil }) { return "node \(number) is not expected" }
        for row in entries {
            guard !removed.contains(row.node), made[row.node]?.file != nil || expected[row.node] != nil else {
                return "an entry is for node \(row.node), which is not expected"
            }
            guard row.entry.size <= UInt64(Int64.max), LedgerNumber.isStorable(row.entry.receipt ?? 0) else {
                return "an entry has \(row.entry.size) bytes, or receipt \(row.entry.receipt ?? 0)"
            }
        }
        if let id = untouched.keys.first(where: { ended[$0] == nil }) { return "the upload \(id) does not end" }
        return (Array(sound) + Array(ended.values)).first { !LedgerNumber.isStorable($0) }.map {
            "\($0) is not a number of a node or an epoch"
        }
    }

    private var receiptContradiction: String? {
        guard let receipts else { return nil }
        let (end, overflow) = receipts.number.addingReportingOverflow(UInt64(clamping: receipts.count))
        guard !overflow, LedgerNumber.isStorable(end), receipts.count > 0, LedgerNumber.isStorable(receipts.time) else {
            return "receipts have the number \(receipts.number) and are \(receipts.count)"
        }
        return nil
    }

    // MARK: What is stored

    /// The entries that are stored: the last one of each ID, in their order.
    package var storedEntries: [EntryRow] {
        var seen: Set<UploadID> = []
        return entries.reversed().filter { seen.insert($0.entry.id).inserted }.reversed()
    }

    /// The files whose entries may be replaced.
    package var replaceableNodes: Set<UInt64> { removed.union(outlived).union(entries.lazy.map(\.node)) }

    /// The batch of receipts with the IDs of the uploads in the order of the receipts' numbers; nil if the entries do
    /// not have all receipts of the batch, each once.
    package var storedReceipts: KeptReceipts? {
        guard let receipts, receipts.count > 0 else { return nil }
        var found: [UInt64: UploadID] = [:]
        for row in storedEntries {
            guard let number = row.entry.receipt, number >= receipts.number,
                number - receipts.number < UInt64(clamping: receipts.count)
            else { continue }
            found[number] = row.entry.id
        }
        guard found.count == receipts.count else { return nil }
        return KeptReceipts(receipts, uploads: found.sorted { $0.key < $1.key }.map(\.value))
    }
}

/// The numbers that a ledger can store: integers of 63 bits, because databases have no unsigned ones.
package enum LedgerNumber {
    package static func isStorable(_ number: UInt64) -> Bool { number <= UInt64(Int64.max) }
}

extension EpochRow {
    /// Why no ledger can adopt epochs and objects; nil if it can.
    package static func contradiction(_ epochs: [EpochRow], _ objects: [ObjectRow]) -> LedgerError? {
        let isSound =
            epochs.allSatisfy { (1...greatest).contains($0.number) }
            && objects.allSatisfy { $0.isStorable && $0.number != .none }
        return isSound ? nil : LedgerError(.damaged, "The bucket has objects with numbers that none can have.")
    }
}

extension ObjectRow {
    /// Whether size and live bytes are integers of 63 bits.
    package var isStorable: Bool {
        LedgerNumber.isStorable(number.rawValue) && LedgerNumber.isStorable(size) && LedgerNumber.isStorable(live)
    }
}

extension [Extent] {
    /// Why the list is not one of extents in order, without overlaps, within `bounds`; nil if it is.
    ///
    /// - Parameter filled: the bytes that the extents have to have; nil for any number.
    package func fault(within bounds: Range<UInt64>, filled: UInt64?) -> String? {
        var end = bounds.lowerBound
        var sum: UInt64 = 0
        for extent in self {
            guard extent.range.lowerBound >= end, !extent.range.isEmpty, extent.range.upperBound <= bounds.upperBound
            else { return "has an extent of \(extent.range) behind \(end), within \(bounds)" }
            guard LedgerNumber.isStorable(extent.start), LedgerNumber.isStorable(extent.object.rawValue),
                LedgerNumber.isStorable(extent.range.upperBound), extent.object != .none
            else { return "has an extent in object \(extent.object.rawValue) at \(extent.start)" }
            end = extent.range.upperBound
            // The extents do not overlap, so the sum is at most `end`.
            sum &+= extent.count
        }
        if let filled, filled != sum { return "has \(sum) bytes in extents and not \(filled)" }
        return nil
    }
}

extension OpenUploadRow {
    /// Why no ledger can make a part of this upload; nil if it can.
    package func contradiction(
        _ range: Range<UInt64>, _ part: PartRow?, _ objects: [ObjectRow], epoch open: UInt64?
    ) -> LedgerError? {
        var sentence: String?
        if let part {
            let isInside = range.clamped(to: part.part.range) == part.part.range && !part.part.range.isEmpty
            sentence = isInside ? part.extents.fault(within: part.part.range, filled: nil) : "it is outside of \(range)"
        }
        for object in objects where object.number.epoch != open || !object.isStorable || object.number == .none {
            sentence = "object \(object.number.rawValue) is not one of epoch \(open ?? 0)"
        }
        if Set(objects.map(\.number)).count < objects.count { sentence = "an object is made twice" }
        let numbers = [range.upperBound, reserved, epoch, open ?? 0, append?.kept.offset ?? 0, append?.kept.total ?? 0]
        if let number = numbers.first(where: { !LedgerNumber.isStorable($0) }) { sentence = "\(number) is too large" }
        return sentence.map {
            LedgerError(.damaged, "The server has made a part that contradicts itself: \($0). This is a bug.")
        }
    }
}

extension AppendMark {
    /// Whether an upload with this state may get `next`: it is behind this one, or says the same, perhaps with the size
    /// that was not known before.
    package func isBefore(_ next: AppendMark) -> Bool {
        if next.offset != offset { return next.offset > offset }
        return next.function == function && next.blocks == blocks && next.tail == tail
            && (total == nil || total == next.total)
    }
}
