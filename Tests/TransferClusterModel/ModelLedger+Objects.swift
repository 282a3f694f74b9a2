package import TransferCluster
import TransferModel
import TransferPorts

// MARK: - Reading all content, and beginning again

extension ModelLedger {
    package func placed(after place: PlacedFile.Place?, limit: Int) throws(LedgerError) -> [PlacedFile] {
        try run(.placed) { rows, _ in
            let files = rows.nodes.values.compactMap { node -> PlacedFile? in
                guard let file = node.file, file.size > 0, case .whole(let object, let start) = file.content else {
                    return nil
                }
                return PlacedFile(
                    PlacedFile.Place(object, start, node.number), size: file.size, digest: file.digest,
                    isRotten: file.isRotten)
            }
            let later = files.filter { file in place.map { $0 < file.place } ?? true }
            return Array(later.sorted { $0.place < $1.place }.prefix(max(0, limit)))
        }
    }

    package func discardContents() throws(LedgerError) {
        try run(.discardContents) { rows, _ in
            let lists = rows.lists
            rows = ModelRows()
            rows.lists = lists
        }
    }
}

// MARK: - Rewriting

extension ModelLedger {
    package func sparse(
        for age: Int64, after object: ObjectNumber, limit: Int
    ) throws(LedgerError) -> [ObjectRow] {
        try run(.sparse) { rows, moment in
            var found: [ObjectRow] = []
            for row in rows.objects.values.map(\.row).sorted(by: { $0.number < $1.number }) where row.number > object {
                guard let epoch = rows.epochs[row.number.epoch], moment - epoch.opened > age else { continue }
                if row.live > 0, row.live < row.size, row.live < row.size - row.live { found.append(row) }
            }
            return Array(found.prefix(max(0, limit)))
        }
    }

    package func uses(of objects: [ObjectNumber]) throws(LedgerError) -> [ObjectUse] {
        try run(.uses) { rows, _ in rows.uses(of: Set(objects)) }
    }

    package func rewrite(_ rewrite: ObjectRewrite) throws(LedgerError) {
        if let contradiction = rewrite.contradiction { throw contradiction }
        try run(.rewrite) { (rows, moment) throws(LedgerError) in
            try rows.checkOpen([rewrite.object.number.epoch])
            try rows.rewrite(rewrite, at: moment)
        }
    }
}

extension ModelRows {
    fileprivate func uses(of wanted: Set<ObjectNumber>) -> [ObjectUse] {
        var uses: [ObjectUse] = []
        func note(_ object: ObjectNumber, _ range: Range<UInt64>, _ purpose: ObjectUse.Purpose, _ node: NodeRow) {
            guard wanted.contains(object) else { return }
            uses.append(ObjectUse(object, range, for: purpose, by: node.number, touch: node.touch))
        }
        for (number, node) in nodes {
            guard let file = node.file else { continue }
            switch file.content {
            case .whole(let object, let start) where file.size > 0:
                note(object, start..<start + file.size, .content, node)
            case .whole(let object, _): note(object, 0..<0, .description(size: 0, file.digest), node)
            case .extents(_, let described):
                note(described, 0..<0, .description(size: file.size, file.digest), node)
                for extent in extents[number, default: []] {
                    note(extent.object, extent.start..<extent.start + extent.count, .content, node)
                }
            }
        }
        for extent in uploads.values.flatMap({ $0.parts.flatMap(\.extents) }) where wanted.contains(extent.object) {
            uses.append(ObjectUse(extent.object, extent.start..<extent.start + extent.count, for: .part))
        }
        return uses
    }

    fileprivate mutating func rewrite(_ rewrite: ObjectRewrite, at moment: Int64) throws(LedgerError) {
        for (number, touch) in rewrite.nodes where nodes[number]?.touch != touch {
            throw LedgerError(.conflict, "Node \(number) has changed.")
        }
        var changed: [UInt64: (node: NodeRow, extents: [Extent])] = [:]
        for number in rewrite.nodes.keys {
            guard var node = nodes[number] else { continue }
            var pieces: [Extent] = []
            for extent in extents[number, default: []] {
                pieces.append(
                    Extent(
                        extent.range, in: rewrite.emptied[extent.object] == nil ? extent.object : rewrite.object.number,
                        from: try rewrite.moved(extent.start..<extent.start + extent.count, of: extent.object)))
            }
            if var file = node.file {
                file.content = try rewrite.moved(file)
                node.form = .file(file)
            }
            node.touch += 1
            changed[number] = (node, pieces)
        }
        for (number, live) in rewrite.emptied where objects[number]?.row.live != live {
            throw LedgerError(.conflict, "The object \(number.rawValue) has other live bytes.")
        }
        guard objects[rewrite.object.number] == nil else {
            throw LedgerError(.conflict, "There is an object \(rewrite.object.number.rawValue) already.")
        }
        for (number, (node, pieces)) in changed {
            nodes[number] = node
            if !pieces.isEmpty { extents[number] = pieces }
        }
        for number in rewrite.emptied.keys {
            objects[number]?.row.live = 0
            objects[number]?.emptied = moment
        }
        let isEmpty = rewrite.object.live == 0
        objects[rewrite.object.number] = Object(row: rewrite.object, emptied: isEmpty ? moment : nil)
    }
}

extension ObjectRewrite {
    /// The new place of bytes that a file uses.
    fileprivate func moved(_ range: Range<UInt64>, of object: ObjectNumber) throws(LedgerError) -> UInt64 {
        guard emptied[object] != nil else { return range.lowerBound }
        guard let place = place(of: range, in: object) else {
            throw LedgerError(.conflict, "Bytes of the object \(object.rawValue) were not copied.")
        }
        return place
    }

    fileprivate func moved(_ file: FileRow) throws(LedgerError) -> StoredBytes {
        switch file.content {
        case .whole(let old, let start):
            guard emptied[old] != nil else { return file.content }
            guard file.size > 0 else { return .whole(object.number, at: start) }
            return .whole(object.number, at: try moved(start..<start + file.size, of: old))
        case .extents(let filled, let described):
            return .extents(filled: filled, described: emptied[described] == nil ? described : object.number)
        }
    }
}
