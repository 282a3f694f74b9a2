import Testing
import TransferCluster
import TransferModel
import TransferPorts

/// The promises of the port about the tree, on every ledger.
@Suite struct LedgerTreeTests {
    @Test("Rows come back as they were made", arguments: TestedLedger.available)
    func roundTrip(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        let owner = ExtraAttributes.Owner(user: .max, group: 0)
        let extra = ExtraAttributes(owner: owner, extended: [.init(name: Array("user.é".utf8), value: [0, 255])])
        let whole = FileRow(
            size: 1 << 62, digest: sampleDigest(1, .sha256Tree), content: .whole(object(1), at: 1 << 62), command: .max)
        let pieces = [
            Extent(5..<7, in: object(1), from: 0), Extent(7..<20, in: object(2), from: 9),
            Extent(90..<100, in: object(1), from: 3),
        ]
        let long = FileRow(size: 1_000, digest: sampleDigest(2), content: .extents(filled: 25))
        let rows = [
            NodeRow(
                number: 10, folder: NodeRow.top, name: PathKey("e\u{301}"), form: .file(whole), touch: .min,
                modified: Timestamp(seconds: .min, nanoseconds: 999_999_999), hasGivenTime: true, permissions: 0,
                extra: extra),
            NodeRow(
                number: UInt64(Int64.max), folder: NodeRow.top, name: PathKey("\u{e9}"), form: .link([0xff, 0]),
                touch: .max, modified: Timestamp(seconds: .max, nanoseconds: 0), permissions: 0o777,
                extra: ExtraAttributes(extended: [])),
            NodeRow(
                number: 12, folder: NodeRow.top, name: PathKey("long"), form: .file(long), touch: 0,
                modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0o600),
            .file(13, "empty"), .folder(14, "folder"),
        ]
        var changes = LedgerChanges()
        for row in rows { changes.made[row.number] = row }
        changes.extents[12] = pieces
        changes = changes.with(
            ObjectRow(object(1), size: 5, live: 1 << 62 + 12), ObjectRow(object(2), size: 5, live: 13))
        try ledger.apply(changes)

        #expect(try ledger.nodes(rows.map(\.number)) == rows)
        #expect(try ledger.nodes([12, 99, 12, .max, 1]) == [rows[2], nil, rows[2], nil, nil])
        #expect(
            try ledger.list(NodeRow.top, after: nil, limit: 9).map(\.number) == [13, 10, 14, 12, UInt64(Int64.max)])
        #expect(try ledger.extents(of: 12) == pieces)
        #expect(try ledger.extents(of: 10).isEmpty)
    }

    /// A tree that most tests of this suite begin with: `a/b/c` with a file, and files beside.
    private func sample(_ kind: TestedLedger) throws -> any ClusterLedger {
        let ledger = try kind.make()
        try ledger.openSample()
        try ledger.apply(
            LedgerChanges(
                making: .folder(10, "a"), .folder(11, "b", in: 10), .folder(12, "c", in: 11),
                .file(20, "f", in: 12, size: 5, object: object(1)), .file(21, "g", in: 10, size: 7, object: object(1)),
                .file(22, "top", size: 1, object: object(1))
            ).with(ObjectRow(object(1), size: 13, live: 13)))
        return ledger
    }

    @Test("Paths and the folders above them are found", arguments: TestedLedger.available)
    func look(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        let paths = try LedgerPaths("a/b/c/f", "a/g", "a/g/below", "none/below", "top", "b")
        let found = try ledger.look(paths)
        let expected: [String: UInt64] = ["a": 10, "a/b": 11, "a/b/c": 12, "a/b/c/f": 20, "a/g": 21, "top": 22]
        for (path, node) in zip(paths.paths, found) { #expect(node?.number == expected[path.string], "\(path.string)") }
        #expect(try ledger.look(LedgerPaths()).isEmpty)
        #expect(
            try ledger.paths(of: [20, 12, 99, 22, 20]).map { $0?.map(\.string) } == [
                ["a", "b", "c", "f"], ["a", "b", "c"], nil, ["top"], ["a", "b", "c", "f"],
            ])
        #expect(try ledger.paths(of: [NodeRow.top]) == [[]])
    }

    @Test("Folders are listed in pages, in the order of bytes", arguments: TestedLedger.available)
    func list(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        let names = ["b", "a", "ab", "Ä", "a\u{308}", "z", "\u{1F600}", "\u{FFFD}", "-", "B"]
        var changes = LedgerChanges()
        for (index, name) in names.enumerated() { changes.made[UInt64(index + 2)] = .file(UInt64(index + 2), name) }
        try ledger.apply(changes)
        var found: [PathKey] = []
        while true {
            let page = try ledger.list(NodeRow.top, after: found.last, limit: 3)
            if page.isEmpty { break }
            #expect(page.count <= 3)
            found += page.map(\.name)
        }
        #expect(found == names.map { PathKey($0) }.sorted())
        #expect(try ledger.list(NodeRow.top, after: nil, limit: 0).isEmpty)
        #expect(try ledger.list(77, after: nil, limit: 5).isEmpty)
    }

    @Test("Files below folders are counted once", arguments: TestedLedger.available)
    func sum(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        #expect(try ledger.sum(below: [10]) == (2, 12))
        #expect(try ledger.sum(below: [10, 12, 10]) == (2, 12))
        #expect(try ledger.sum(below: [NodeRow.top]) == (3, 13))
        #expect(try ledger.sum(below: [22, 99, .max]) == (0, 0))
        #expect(try ledger.sum(below: []) == (0, 0))
        #expect(try ledger.files(after: 0, limit: 2).map(\.number) == [20, 21])
        #expect(try ledger.files(after: 21, limit: 2).map(\.number) == [22])
        #expect(try ledger.files(after: .max, limit: 2).isEmpty)
    }

    @Test("Nodes exchange their names", arguments: TestedLedger.available)
    func exchange(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        try ledger.apply(
            LedgerChanges(
                updating: NodeRow.file(22, "g", in: 10, size: 1, object: object(1), touch: 2),
                .file(21, "f", in: 12, size: 7, object: object(1), touch: 2),
                .file(20, "top", size: 5, object: object(1), touch: 2)))
        #expect(try ledger.look(LedgerPaths("top"))[0]?.number == 20)
        #expect(try ledger.list(10, after: nil, limit: 9).map(\.number) == [11, 22])
        #expect(try ledger.list(12, after: nil, limit: 9).map(\.number) == [21])
        // A name that becomes free in the same changes can be taken, by an update and by a new node.
        var changes = LedgerChanges(
            updating: NodeRow.file(21, "top", size: 7, object: object(1), touch: 3), expecting: 2)
        changes.removed = [20]
        changes.expected[20] = 2
        changes.expected[12] = 1
        changes.made[30] = .file(30, "f", in: 12)
        changes.live = [object(1): -5]
        try ledger.apply(changes)
        #expect(try ledger.look(LedgerPaths("top", "a/b/c/f")).map { $0?.number } == [21, 10, 11, 12, 30])
    }

    /// Changes of the sample that contradict rows of the ledger.
    enum Refused: String, CaseIterable, CustomTestStringConvertible {
        case staleTouch, goneNode, takenName, takenByMove, twice, notEmpty, notAllMoved, usedNumber
        case unknownObject, unknownUpload, entryOfFolder

        var testDescription: String { rawValue }

        var changes: LedgerChanges {
            var changes = LedgerChanges()
            switch self {
            case .staleTouch:
                changes = LedgerChanges(making: .file(30, "new", in: 10), .folder(31, "new"))
                changes.expected[10] = 2
            case .goneNode:
                changes = LedgerChanges(making: .folder(31, "new"))
                changes.expected[99] = 1
            case .takenName: changes = LedgerChanges(making: .folder(31, "new"), .folder(30, "g", in: 10))
            case .takenByMove: changes = LedgerChanges(updating: .folder(12, "g", in: 10, touch: 2))
            case .twice: changes = LedgerChanges(making: .folder(31, "new"), .folder(30, "new"))
            case .notEmpty: changes = LedgerChanges(removing: 12)
            case .notAllMoved:
                changes = LedgerChanges(updating: .file(21, "new", size: 7, object: object(1), touch: 2))
                changes.removed = [10]
                changes.expected[10] = 1
            case .usedNumber: changes = LedgerChanges(making: .folder(31, "new"), .file(20, "new2"))
            case .unknownObject:
                changes = LedgerChanges(making: .file(30, "new", size: 3, object: object(9)))
                changes.live = [object(9): 3]
            case .unknownUpload:
                changes = LedgerChanges(making: .folder(31, "new"))
                changes.ended = [UploadID(1): 1]
            case .entryOfFolder: changes = LedgerChanges(making: .folder(31, "new")).with([EntryRow(1, of: 12)])
            }
            return changes
        }
    }

    @Test("Refused changes change nothing", arguments: TestedLedger.available, Refused.allCases)
    func refuse(_ kind: TestedLedger, _ refused: Refused) throws {
        let ledger = try sample(kind)
        let before = try ledger.dump()
        #expect(reason { try ledger.apply(refused.changes) } == .conflict)
        #expect(try ledger.dump() == before)
    }

    @Test("Changes that contradict themselves are refused", arguments: TestedLedger.available)
    func contradiction(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        let before = try ledger.dump()
        var cases = [
            LedgerChanges(making: .file(30, "")), LedgerChanges(making: .file(1, "one")),
            LedgerChanges(making: .file(.max, "max")), LedgerChanges(making: .file(30, "huge", size: .max)),
            LedgerChanges(making: .file(30, String(repeating: "x", count: 256))),
            LedgerChanges(making: .folder(30, "x", in: 30)),
        ]
        var changes = LedgerChanges()
        changes.removed = [22]
        cases.append(changes)
        changes = LedgerChanges()
        changes.updated[22] = .file(22, "x")
        cases.append(changes)
        changes = LedgerChanges()
        changes.made[30] = .file(30, "x", in: 10)
        cases.append(changes)
        changes = LedgerChanges(removing: 12)
        changes.made[30] = .file(30, "x", in: 12)
        cases.append(changes)
        changes = LedgerChanges(making: .file(30, "x"))
        changes.objects = [ObjectRow(object(5), size: 1, live: 1)]
        cases.append(changes)
        changes.epochs = [sampleEpoch]
        changes.objects += changes.objects
        cases.append(changes)
        for changes in cases { #expect(reason { try ledger.apply(changes) } == .damaged, "\(changes)") }
        #expect(try ledger.dump() == before)
    }

    @Test("What refers to a removed file goes with it", arguments: TestedLedger.available)
    func removal(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        var changes = LedgerChanges(making: .file(30, "x", size: 3))
        let row = FileRow(size: 3, digest: sampleDigest(), content: .extents(filled: 2))
        changes.made[30]?.form = .file(row)
        changes.extents[30] = [Extent(1..<3, in: object(2), from: 0)]
        try ledger.apply(
            changes.with([EntryRow(1, of: 30), EntryRow(2, of: 22)]).with(ObjectRow(object(2), size: 2, live: 2)))
        try ledger.mark(rotten: [30, 22, 99, 12])
        #expect(try ledger.allRotten() == [30: sampleDigest(), 22: sampleDigest(22)])

        changes = LedgerChanges(removing: 30, expecting: 2)
        changes.live = [object(2): -2]
        try ledger.apply(changes)
        #expect(try ledger.extents(of: 30).isEmpty)
        #expect(try ledger.entries([UploadID(1), UploadID(2)]).map { $0?.node } == [nil, 22])
        #expect(try ledger.allRotten() == [22: sampleDigest(22)])
        _ = try ledger.closeEpochs(olderThan: -1)
        #expect(try ledger.unused(for: 0, limit: 5) == [object(2)])
    }
}
