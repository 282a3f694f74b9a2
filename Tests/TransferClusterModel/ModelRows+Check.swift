import TransferCluster
import TransferModel
import TransferPorts

extension ModelRows {
    /// Verifies what has to hold between all calls.
    ///
    /// - Returns: a sentence for each fault; empty for sound rows.
    package func check() -> [String] {
        treeFaults() + fileFaults() + objectFaults() + uploadFaults() + entryFaults()
    }

    private func treeFaults() -> [String] {
        var faults: [String] = []
        var count = 0
        for (folder, children) in names {
            if folder != NodeRow.top, nodes[folder]?.isFolder != true { faults.append("Node \(folder) is no folder.") }
            count += children.count
            for (name, number) in children where nodes[number]?.name != name || nodes[number]?.folder != folder {
                faults.append("The name \(name.string) in folder \(folder) is not that of node \(number).")
            }
        }
        if count != nodes.count { faults.append("There are \(nodes.count) nodes and \(count) names.") }
        for (number, node) in nodes {
            if node.folder != NodeRow.top, nodes[node.folder]?.isFolder != true {
                faults.append("Folder \(node.folder) of node \(number) is missing.")
            }
            if path(of: number) == nil { faults.append("Node \(number) is not below the top.") }
        }
        return faults
    }

    /// The names from the top to a node; nil if the node is gone, or not below the top.
    func path(of number: UInt64) -> [PathKey]? {
        var path: [PathKey] = []
        var number = number
        while number != NodeRow.top {
            // More names than nodes would be a circle.
            guard path.count <= nodes.count, let node = nodes[number] else { return nil }
            path.append(node.name)
            number = node.folder
        }
        return path.reversed()
    }

    private func fileFaults() -> [String] {
        var faults: [String] = []
        for (number, node) in nodes {
            guard case .extents(let filled, _)? = node.file?.content else {
                if extents[number] != nil { faults.append("Node \(number) has extents besides its row.") }
                continue
            }
            let bounds = 0..<(node.file?.size ?? 0)
            if let fault = extents[number, default: []].fault(within: bounds, filled: filled) {
                faults.append("Node \(number) \(fault).")
            }
        }
        for number in extents.keys where nodes[number] == nil { faults.append("Extents of node \(number) are left.") }
        return faults
    }

    private func objectFaults() -> [String] {
        var faults: [String] = []
        let live = referredBytes
        for (number, bytes) in live where objects[number]?.row.live != bytes {
            let counted = objects[number].map { "\($0.row.live) bytes" } ?? "no row"
            faults.append("The object \(number.rawValue) has \(counted), and extents have \(bytes).")
        }
        for (number, object) in objects {
            if object.row.live > 0, live[number] == nil {
                faults.append("The object \(number.rawValue) has \(object.row.live) bytes that no extent has.")
            }
            if (object.row.live == 0) != (object.emptied != nil) {
                faults.append("The object \(number.rawValue) has \(object.row.live) bytes and a wrong time.")
            }
        }
        return faults
    }

    /// The bytes of each object that extents of files and parts have, and one for each description without bytes.
    private var referredBytes: [ObjectNumber: UInt64] {
        var live: [ObjectNumber: UInt64] = [:]
        for (number, node) in nodes {
            switch node.file?.content {
            case .whole(let object, _)?: live[object, default: 0] += max(1, node.file?.size ?? 0)
            case .extents(_, let described)?:
                live[described, default: 0] += 1
                for extent in extents[number, default: []] { live[extent.object, default: 0] += extent.count }
            case nil: break
            }
        }
        for extent in uploads.values.flatMap({ $0.parts.flatMap(\.extents) }) {
            live[extent.object, default: 0] += extent.count
        }
        live[.none] = nil
        return live
    }

    private func uploadFaults() -> [String] {
        var faults: [String] = []
        for (id, upload) in uploads {
            var end: UInt64 = 0
            for part in upload.parts {
                if part.part.range.lowerBound < end { faults.append("Parts of upload \(id) overlap at \(end).") }
                if let fault = part.extents.fault(within: part.part.range, filled: nil) {
                    faults.append("A part of upload \(id) \(fault).")
                }
                end = part.part.range.upperBound
            }
        }
        return faults
    }

    private func entryFaults() -> [String] {
        var faults: [String] = []
        for (id, entry) in entries {
            if nodes[entry.node]?.file == nil { faults.append("The entry \(id) is for node \(entry.node), no file.") }
            if entriesOfNodes[entry.node]?.contains(id) != true {
                faults.append("Entry \(id) is not found by its node.")
            }
        }
        if Set(entries.values.map(\.number)).count < entries.count { faults.append("Two entries have one number.") }
        for kept in receipts.values {
            for (index, id) in kept.uploads.enumerated() {
                guard entries[id]?.entry.receipt == kept.signedBatch.number + UInt64(index) else {
                    faults.append("The receipts of \(kept.signedBatch.number) have lost upload \(id).")
                    continue
                }
            }
        }
        return faults
    }
}
