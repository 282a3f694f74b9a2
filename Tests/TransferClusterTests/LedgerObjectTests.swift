import Testing
import TransferCluster
import TransferModel
import TransferPorts

/// The promises of the port about objects, epochs and unfinished uploads, on every ledger.
@Suite struct LedgerObjectTests {
    private let id = UploadID(1)

    @Test("Epochs are opened, closed and swept", arguments: TestedLedger.available)
    func epochs(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        #expect(reason { try ledger.openSample() } == .conflict)
        try ledger.open(EpochRow(number: EpochRow.greatest, key: "kéy", server: "ß", opened: 0))
        let opened = try ledger.epochs([EpochRow.greatest, sampleEpoch, 5, sampleEpoch])
        #expect(opened.map(\.number) == [sampleEpoch, EpochRow.greatest])
        #expect(opened.map(\.key) == ["k7", "kéy"] && opened.map(\.server) == ["s", "ß"])
        #expect(opened.allSatisfy { $0.state == .open && $0.opened > 0 })

        #expect(try ledger.closeEpochs(olderThan: .max).isEmpty)
        #expect(reason { try ledger.noteSwept(sampleEpoch) } == .conflict)
        #expect(reason { try ledger.noteSwept(5) } == .conflict)
        #expect(try ledger.closeEpochs(olderThan: -1).map(\.number) == [sampleEpoch, EpochRow.greatest])
        for _ in 0..<2 { try ledger.noteSwept(sampleEpoch) }
        let closed = try ledger.closeEpochs(olderThan: -1)
        #expect(closed.map(\.number) == [EpochRow.greatest] && closed.map(\.state) == [.closed])

        let changes = LedgerChanges(making: .folder(10, "a")).with(ObjectRow(object(1), size: 1, live: 0))
        #expect(reason { try ledger.apply(changes) } == .epochClosed)
        var unknown = LedgerChanges(making: .folder(10, "a"))
        unknown.epochs = [5]
        #expect(reason { try ledger.apply(unknown) } == .epochClosed)
        #expect(try ledger.look(LedgerPaths("a")) == [nil])
    }

    @Test("Objects count the bytes that refer to them", arguments: TestedLedger.available)
    func live(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        var changes = LedgerChanges(making: .file(10, "a", size: 4, object: object(1)))
            .with(ObjectRow(object(1), size: 4, live: 0), ObjectRow(object(2), size: 4, live: 0))
        // A new object may also get its bytes by `live`.
        changes.live = [object(1): 4]
        try ledger.apply(changes)
        // A commit of an open epoch may still refer to the object.
        #expect(try ledger.unused(for: 0, limit: 9).isEmpty)
        _ = try ledger.closeEpochs(olderThan: -1)
        #expect(try ledger.unused(for: 0, limit: 9) == [object(2)])
        #expect(try ledger.unused(for: .max, limit: 9).isEmpty)

        changes = LedgerChanges(making: .file(11, "b", size: 4, object: object(1)))
        changes.live = [object(1): 4]
        try ledger.apply(changes)
        changes = LedgerChanges(removing: 10)
        changes.live = [object(1): -4]
        try ledger.apply(changes)
        #expect(try ledger.unused(for: 0, limit: 9) == [object(2)])
        changes = LedgerChanges(removing: 11)
        changes.live = [object(1): -5]
        #expect(reason { try ledger.apply(changes) } == .damaged)
        changes.live = [object(1): -4]
        try ledger.apply(changes)
        #expect(Set(try ledger.unused(for: 0, limit: 9)) == [object(1), object(2)])
        #expect(try ledger.unused(for: 0, limit: 1).count == 1)

        // An object without content may be deleted at any moment, so no content may be put into it.
        changes = LedgerChanges(making: .file(12, "c", size: 4, object: object(1)))
        changes.live = [object(1): 4]
        #expect(reason { try ledger.apply(changes) } == .conflict)
        #expect(try ledger.known([object(1), object(3), object(1)]) == [object(1)])
        try ledger.forget([object(1), object(3)])
        #expect(try ledger.known([object(1), object(2)]) == [object(2)])
    }

    @Test("Adopted epochs are swept, and adopted objects are counted", arguments: TestedLedger.available)
    func adopt(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        let epoch = EpochRow(number: sampleEpoch, key: "k\u{e9}", server: "", opened: 0)
        try ledger.adopt([epoch], [])
        let rows = [ObjectRow(object(1), size: 5, live: 1), ObjectRow(object(2), size: 5, live: 0)]
        try ledger.adopt([], rows)
        let found = try ledger.epochs([sampleEpoch])
        #expect(found.map(\.state) == [.swept] && found.map(\.key) == ["k\u{e9}"])
        #expect(try ledger.closeEpochs(olderThan: -1).isEmpty)
        #expect(reason { try ledger.openSample() } == .conflict)
        #expect(reason { try ledger.adopt([epoch], [ObjectRow(object(3), size: 1, live: 1)]) } == .conflict)
        #expect(reason { try ledger.adopt([], [rows[0]]) } == .conflict)
        let new = ObjectRow(object(3), size: 1, live: 1)
        #expect(reason { try ledger.adopt([], [new, new]) } == .conflict)
        #expect(reason { try ledger.adopt([], [ObjectRow(.none, size: 1, live: 1)]) } == .damaged)
        #expect(try ledger.unused(for: 0, limit: 9) == [object(2)])
        // Content is put into adopted objects as into others that are there.
        var changes = LedgerChanges(making: .file(10, "a", size: 4, object: object(1)))
        changes.live = [object(1): 3]
        try ledger.apply(changes)
        changes = LedgerChanges(making: .folder(11, "b")).with(ObjectRow(object(4), size: 1, live: 0))
        #expect(reason { try ledger.apply(changes) } == .epochClosed)
        changes = LedgerChanges()
        changes.live = [object(1): -4]
        try ledger.apply(changes)
        #expect(Set(try ledger.unused(for: 0, limit: 9)) == [object(1), object(2)])
    }

    @Test("Two transactions record one object", arguments: TestedLedger.available)
    func sharedPack(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        for (number, live) in [(10, 4), (11, 0), (12, 3)] as [(UInt64, UInt64)] {
            try ledger.apply(
                LedgerChanges(making: .file(number, "\(number)", size: live, object: live > 0 ? object(1) : .none))
                    .with(ObjectRow(object(1), size: 9, live: live)))
        }
        var changes = LedgerChanges(removing: 10, 12)
        changes.live = [object(1): -8]
        #expect(reason { try ledger.apply(changes) } == .damaged)
        changes.live = [object(1): -7]
        try ledger.apply(changes)
        _ = try ledger.closeEpochs(olderThan: -1)
        #expect(try ledger.unused(for: 0, limit: 9) == [object(1)])
    }

    @Test("Declarations are kept until the upload is acknowledged", arguments: TestedLedger.available)
    func declarations(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        let plain = UnfinishedUpload(id: UploadID(1), path: "é", begun: 5)
        let full = UnfinishedUpload(
            id: UploadID(2), path: "a/b", size: .max, kind: .picture, function: .sha256, conflict: .fail,
            modified: Timestamp(seconds: -5, nanoseconds: 7), permissions: 0o777, sender: "s\0", client: .max, begun: 3,
            run: .max)
        try ledger.declare([plain, plain, full], forgetting: [UploadID(9)])
        #expect(try ledger.declared() == [full, plain])
        var later = plain
        later.begun = 1
        try ledger.declare([later], forgetting: [full.id])
        #expect(try ledger.declared() == [later])
        try ledger.apply(LedgerChanges(making: .file(20, "f")).with([EntryRow(1, of: 20)]))
        #expect(try ledger.declared().isEmpty)
        try ledger.declare([], forgetting: [])
    }

    @Test("Rows of objects with content are not forgotten", arguments: TestedLedger.available)
    func forget(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        try ledger.apply(
            LedgerChanges(making: .file(10, "a", size: 4, object: object(1)))
                .with(ObjectRow(object(1), size: 4, live: 4)))
        try ledger.forget([object(1)])
        #expect(try ledger.known([object(1)]) == [object(1)])
    }

    // MARK: Unfinished uploads

    private func row(_ epoch: UInt64 = 3, append: OpenUploadRow.Append? = nil) -> OpenUploadRow {
        OpenUploadRow(id: id, epoch: epoch, reserved: 100, written: 5, append: append)
    }

    private func part(_ range: Range<UInt64>, in object: ObjectNumber) -> PartRow {
        PartRow(RecordedPart(range, digests: []), [Extent(range, in: object, from: 0)])
    }

    @Test("Uploads begin once, up to a limit", arguments: TestedLedger.available)
    func begin(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        let mark = AppendMark(.sha256, offset: 5, total: nil, blocks: [], tail: [1, 2])
        let append = row(append: OpenUploadRow.Append(declaration: [0, 255], kept: mark))
        #expect(reason { _ = try ledger.begin(append, limit: 0) } == .full)
        let first = try ledger.begin(append, limit: 1)
        #expect(first.isNew && first.row == append)
        let second = try ledger.begin(row(9), limit: 0)
        #expect(!second.isNew && second.row == append)
        let other = OpenUploadRow(id: UploadID(2), epoch: 1, reserved: 0, written: .min)
        #expect(reason { _ = try ledger.begin(other, limit: 1) } == .full)
        #expect(try ledger.begin(other, limit: 2).isNew)
        #expect(try ledger.uploads() == [append, other])
        #expect(try ledger.upload(id)?.row == append)
        #expect(try ledger.upload(UploadID(3)) == nil && ledger.takeOver(UploadID(3)) == nil)
        let taken = try ledger.takeOver(id)
        #expect(taken?.row.epoch == 4 && taken?.row.append == append.append)
    }

    @Test("Parts replace parts, and objects count them", arguments: TestedLedger.available)
    func replace(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        _ = try ledger.begin(row(), limit: 9)
        var upload = row()
        (upload.reserved, upload.written) = (170, 8)
        for (serial, range) in [(1, 0..<10), (2, 10..<20), (3, 20..<30)] as [(UInt64, Range<UInt64>)] {
            try ledger.replace(
                range, by: part(range, in: object(serial)), [ObjectRow(object(serial), size: 10, live: 10)],
                in: upload, epoch: sampleEpoch)
        }
        #expect(try ledger.upload(id)?.row == upload)
        #expect(try ledger.upload(id)?.parts.map(\.part.range) == [0..<10, 10..<20, 20..<30])

        // The reserved room does not shrink. The first and the last part are cut, the one between them is replaced.
        upload.reserved = 7
        try ledger.replace(
            5..<25, by: part(6..<24, in: object(4)), [ObjectRow(object(4), size: 18, live: 18)], in: upload,
            epoch: sampleEpoch)
        let parts = try ledger.upload(id)?.parts ?? []
        #expect(try ledger.upload(id)?.row.reserved == 170)
        #expect(parts.map(\.part.range) == [0..<5, 6..<24, 25..<30])
        #expect(parts.last?.extents == [Extent(25..<30, in: object(3), from: 5)])
        _ = try ledger.closeEpochs(olderThan: -1)
        #expect(try ledger.unused(for: 0, limit: 9) == [object(2)])

        // Parts are removed without a new one, and an empty range removes no part.
        try ledger.replace(0..<6, by: nil, [], in: upload, epoch: nil)
        try ledger.replace(8..<8, by: nil, [], in: upload, epoch: nil)
        #expect(try ledger.upload(id)?.parts.map(\.part.range) == [6..<24, 25..<30])
        #expect(Set(try ledger.unused(for: 0, limit: 9)) == [object(1), object(2)])

        var changes = LedgerChanges(making: .file(10, "a", size: 18, object: object(4)))
        changes.live = [object(4): 18]
        changes.ended = [id: 4]
        #expect(reason { try ledger.apply(changes) } == .conflict)
        changes.ended = [id: 3]
        let written = try ledger.upload(id)?.row.written ?? 0
        changes.untouched = [id: written - 1]
        #expect(reason { try ledger.apply(changes) } == .conflict)
        changes.untouched = [id: written]
        try ledger.apply(changes)
        #expect(try ledger.upload(id) == nil)
        #expect(Set(try ledger.unused(for: 0, limit: 9)) == [object(1), object(2), object(3)])
    }

    @Test("Digests of blocks that are kept stay with their part", arguments: TestedLedger.available)
    func cutBlocks(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        _ = try ledger.begin(row(), limit: 9)
        let size = UInt64(Limits.blockSize)
        let whole = RecordedPart(0..<3 * size, digests: Array(0..<48))
        try ledger.replace(
            whole.range, by: PartRow(whole, [Extent(whole.range, in: object(1), from: 9)]),
            [ObjectRow(object(1), size: 3 * size, live: 3 * size)], in: row(), epoch: sampleEpoch)
        try ledger.replace(size + 1..<size + 2, by: nil, [], in: row(), epoch: nil)
        let expected = PartRow(whole, [Extent(whole.range, in: object(1), from: 9)]).without(size + 1..<size + 2)
        #expect(try ledger.upload(id)?.parts == expected)
    }

    @Test("A part is refused", arguments: TestedLedger.available)
    func refusePart(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        try ledger.openSample()
        let new = [ObjectRow(object(1), size: 10, live: 10)]
        let part = part(0..<10, in: object(1))
        #expect(reason { try ledger.replace(0..<10, by: part, new, in: row(), epoch: sampleEpoch) } == .conflict)
        _ = try ledger.begin(row(), limit: 9)
        #expect(reason { try ledger.replace(0..<10, by: part, new, in: row(4), epoch: sampleEpoch) } == .conflict)
        #expect(reason { try ledger.replace(0..<9, by: part, new, in: row(), epoch: sampleEpoch) } == .damaged)
        #expect(reason { try ledger.replace(0..<10, by: part, new, in: row(), epoch: 8) } == .damaged)
        // The part is in an object that nothing refers to.
        #expect(reason { try ledger.replace(0..<10, by: part, [], in: row(), epoch: nil) } == .conflict)
        _ = try ledger.closeEpochs(olderThan: -1)
        #expect(reason { try ledger.replace(0..<10, by: part, new, in: row(), epoch: sampleEpoch) } == .epochClosed)
        #expect(try ledger.upload(id)?.parts.isEmpty == true)
        #expect(try ledger.known([object(1)]).isEmpty)
    }

    @Test("The state of an append upload only grows", arguments: TestedLedger.available)
    func append(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        func state(_ offset: UInt64, _ total: UInt64? = nil, tail: [UInt8] = [1]) -> OpenUploadRow {
            let mark = AppendMark(offset: offset, total: total, blocks: [7], tail: tail)
            return row(append: OpenUploadRow.Append(declaration: [1], kept: mark))
        }
        _ = try ledger.begin(state(10), limit: 9)
        #expect(reason { try ledger.replace(0..<0, by: nil, [], in: state(9), epoch: nil) } == .conflict)
        #expect(reason { try ledger.replace(0..<0, by: nil, [], in: state(10, tail: [2]), epoch: nil) } == .conflict)
        try ledger.replace(0..<0, by: nil, [], in: state(10), epoch: nil)
        try ledger.replace(0..<0, by: nil, [], in: state(10, 30), epoch: nil)
        #expect(reason { try ledger.replace(0..<0, by: nil, [], in: state(10, 31), epoch: nil) } == .conflict)
        #expect(reason { try ledger.replace(0..<0, by: nil, [], in: state(10), epoch: nil) } == .conflict)
        try ledger.replace(0..<0, by: nil, [], in: state(11, 30, tail: []), epoch: nil)
        #expect(try ledger.upload(id)?.row == state(11, 30, tail: []))
        // A multipart upload has no such state.
        _ = try ledger.begin(OpenUploadRow(id: UploadID(2), epoch: 3, reserved: 0, written: 0), limit: 9)
        let other = OpenUploadRow(id: UploadID(2), epoch: 3, reserved: 0, written: 0, append: state(1).append)
        #expect(reason { try ledger.replace(0..<0, by: nil, [], in: other, epoch: nil) } == .conflict)
    }
}
