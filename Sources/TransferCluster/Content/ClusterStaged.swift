import TransferCodec
package import TransferModel
import TransferObjects
package import TransferPorts
import TransferSystem

/// Where the bytes of a publication are, all of them in objects, and what its transaction has to record of them.
struct PlacedContent {
    var bytes: StoredBytes

    /// The extents, if `bytes` says that there are several.
    var extents: [Extent] = []

    /// Objects without a row, and the bytes of each that the content has.
    var objects: [ObjectRow] = []

    /// The unfinished upload whose parts the content is; nil for other content.
    var upload: (row: OpenUploadRow, parts: [PartRow])?

    /// The file whose extents the content shares, as it was when it was opened; nil for other content.
    var source: NodeRow?
}

/// A place for the bytes of one upload. Long content goes to the bucket while it arrives, in segments; short content
/// when it is published, together with that of other uploads.
package final class ClusterStaged: StagedContent {
    private struct State: Sendable {
        var isOpen = true
        /// Bytes up to which the content was written or cleared.
        var size: UInt64 = 0
        /// Bytes that are in objects.
        var extents: [Extent] = []
        var objects: [ObjectRow] = []
        /// The file whose extents this content shares.
        var source: (node: NodeRow, extents: [Extent])?
        var hasReplaced = false
        var kept: KeptFile?
    }

    /// Bytes of a segment, the usual part of a client's upload: four blocks. Longer segments would take more scratch
    /// space, shorter ones more requests.
    static let segment = 4 * UInt64(Limits.blockSize)

    /// The longest content that goes into a pack, and the longest rest behind the segments that does.
    static let mostInPack = ScratchBytes.mostInMemory

    /// Bytes that are read at once to be digested.
    private static let readSize: UInt64 = 1 << 20

    private let store: ClusterStore
    private let scratch: ScratchBytes
    let hold: SpaceHold?
    /// The ID of an upload whose parts are recorded; nil for other content.
    let recorded: UploadID?
    private let state = Locked(State())
    package let isNew: Bool

    init(of store: ClusterStore, hold: SpaceHold?, recorded: UploadID? = nil, isNew: Bool = true) {
        (self.store, self.hold, self.recorded, self.isNew) = (store, hold, recorded, isNew)
        scratch = ScratchBytes(in: store.scratch)
    }

    package var hasReplaced: Bool { state.withLock { $0.hasReplaced } }
    package var kept: KeptFile? { state.withLock { $0.kept } }

    // MARK: Writing

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow else { throw Failure(.uploadTooLarge, "The upload is longer than any file can be.") }
        try hold?.grow(to: end)
        try scratch.write(bytes, at: offset)
        state.withLock { $0.size = max($0.size, end) }
        if recorded == nil { try storeSegments() }
    }

    package func clear(_ range: Range<UInt64>) throws(Failure) {
        try hold?.grow(to: range.upperBound)
        scratch.forget(range)
        state.withLock { state in
            state.size = max(state.size, range.upperBound)
            state.extents = state.extents.flatMap { $0.without(range) }
        }
    }

    /// Stores whole segments that have arrived. The sender waits, so it sends no faster than the bucket takes.
    private func storeSegments() throws(Failure) {
        while let last = scratch.present.ranges.first(where: { $0.upperBound - $0.lowerBound >= Self.segment }) {
            try put(last.lowerBound..<last.lowerBound + Self.segment)
        }
    }

    /// Stores bytes that have arrived as an object, and lets go of them here.
    private func put(_ range: Range<UInt64>) throws(Failure) {
        let extent = try object(range)
        scratch.forget(range)
        state.withLock { state in
            state.extents = state.extents.flatMap { $0.without(range) } + [extent]
            state.objects.append(ObjectRow(extent.object, size: extent.count, live: extent.count))
        }
    }

    private func object(_ range: Range<UInt64>) throws(Failure) -> Extent {
        let content: ObjectContent
        do throws(ObjectError) {
            content = try ObjectContent(
                size: range.upperBound - range.lowerBound,
                from: .pieces { [scratch] (offset, space) throws(ObjectError) in
                    do throws(Failure) {
                        try scratch.read(into: space, at: range.lowerBound + offset)
                        return space.count
                    } catch {
                        throw ObjectError(.damaged, error.message)
                    }
                })
        } catch {
            throw Failure(object: error)
        }
        return Extent(range, in: try store.objects.put(content), from: 0)
    }

    /// Shares the extents of a stored file.
    func share(_ node: NodeRow, _ extents: [Extent]) {
        let size = node.file?.size ?? 0
        state.withLock { ($0.source, $0.size) = ((node, extents), size) }
    }

    // MARK: Parts

    /// Stores verified bytes of a part, and lets go of them here.
    ///
    /// - Returns: the extents of the bytes that are not in holes, and their objects, which have no rows yet.
    func storePart(_ range: Range<UInt64>) throws(Failure) -> (extents: [Extent], objects: [ObjectRow]) {
        var extents: [Extent] = []
        for bytes in scratch.present.clamped(to: range) {
            var start = bytes.lowerBound
            while start < bytes.upperBound {
                let end = min(bytes.upperBound, start + Self.segment)
                extents.append(try object(start..<end))
                start = end
            }
        }
        scratch.forget(range)
        return (extents, extents.map { ObjectRow($0.object, size: $0.count, live: $0.count) })
    }

    package func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> ClusterSurvey {
        ClusterSurvey()
    }

    package func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        let hasher = BlockHasher(function)
        do throws(Failure) {
            var extents = state.withLock { $0.source?.extents ?? $0.extents }
            if let id = recorded {
                let found = try store.ask { () throws(LedgerError) in try store.ledger.upload(id) }
                extents = found?.parts.flatMap(\.extents) ?? []
            }
            try read(range, extents) { hasher.update($0) }
            return hasher.finish()
        } catch {
            return nil
        }
    }

    /// Reads bytes, whether they are in objects or only here.
    func read(
        _ range: Range<UInt64>, _ extents: [Extent], _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(clamping: min(Self.readSize, range.upperBound - range.lowerBound)), alignment: 16)
        defer { buffer.deallocate() }
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min(range.upperBound, start + UInt64(buffer.count))
            let space = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(end - start)])
            try scratch.read(into: space, at: start)
            for extent in extents.compactMap({ $0.clamped(to: start..<end) }) {
                // Trap: the extent was clamped to the buffer.
                let place = UnsafeMutableRawBufferPointer(
                    rebasing: space[Int(extent.range.lowerBound - start)..<Int(extent.range.upperBound - start)])
                try store.objects.read(extent.object, from: extent.start, into: place)
            }
            try body(UnsafeRawBufferPointer(space))
            start = end
        }
    }

    // MARK: Publishing

    /// Bytes for a pack; nil if the content has segments, is recorded, is shared, or is empty.
    func packable(_ size: UInt64) throws(Failure) -> [UInt8]? {
        let isShort = state.withLock { $0.extents.isEmpty && $0.source == nil }
        guard recorded == nil, isShort, (1...UInt64(Self.mostInPack)).contains(size),
            scratch.present.contains(0..<size)
        else { return nil }
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            do throws(Failure) {
                try scratch.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
                count = buffer.count
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Stores what is not in an object yet, and returns where all bytes are.
    ///
    /// - Parameter size: bytes of the content.
    func place(_ size: UInt64) throws(Failure) -> PlacedContent {
        if let source = state.withLock({ $0.source }) { return try sharing(source.node, source.extents, size) }
        if let id = recorded { return try assembled(id, size) }
        for range in scratch.present.clamped(to: 0..<size) { try put(range) }
        let (extents, objects) = state.withLock { ($0.extents, $0.objects) }
        return PlacedContent(extents.compactMap { $0.clamped(to: 0..<size) }, objects, size: size)
    }

    private func sharing(_ node: NodeRow, _ extents: [Extent], _ size: UInt64) throws(Failure) -> PlacedContent {
        guard let file = node.file, file.size == size else {
            throw Failure(.fileChanged, "The content that was to be shared has another size.")
        }
        return PlacedContent(bytes: file.content, extents: extents, source: node)
    }

    private func assembled(_ id: UploadID, _ size: UInt64) throws(Failure) -> PlacedContent {
        let found: (row: OpenUploadRow, parts: [PartRow])?
        do throws(LedgerError) { found = try store.ledger.upload(id) } catch { throw Failure(ledger: error) }
        guard let found else { throw .takenOver }
        let extents = found.parts.flatMap(\.extents).compactMap { $0.clamped(to: 0..<size) }
        var placed = PlacedContent(extents, [], size: size)
        placed.upload = found
        return placed
    }

    // MARK: Ending

    package func trim(to size: UInt64) throws(Failure) {
        scratch.forget(size..<UInt64.max >> 1)
        state.withLock { state in
            state.size = min(state.size, size)
            state.extents = state.extents.compactMap { $0.clamped(to: 0..<size) }
        }
    }

    package func giveBackRoom() {
        hold?.shrink(to: state.withLock { $0.size })
    }

    /// Lets go of the bytes that are only here, because the upload is removed.
    func forgetBytes() { scratch.discard() }

    package func discard() {
        guard close() else { return }
        scratch.discard()
        hold?.giveBack()
        store.discardObjects(state.withLock { $0.objects })
        guard let recorded else { return }
        store.forgetStaged(recorded, self)
        // If this fails, the upload stays unfinished until it is too old.
        try? store.removePart(recorded)
    }

    /// Ends the staging if it is unknown whether the content was published. Its objects stay: files may refer to them. If
    /// none does, the sweeper deletes them.
    func abandon() {
        guard recorded == nil, close() else { return }
        scratch.discard()
        hold?.giveBack()
    }

    /// Called if an upload could not be published now. A resumable upload stays, and a client that sends it again
    /// resumes it.
    func discardUnlessResumable() { if recorded == nil { discard() } }

    /// Notes what the publication will replace, which its records name before they are committed.
    ///
    /// - Parameter freed: bytes that the replaced file frees; nil if no file is replaced.
    func willReplace(_ freed: UInt64?, kept: KeptFile?) {
        state.withLock { ($0.hasReplaced, $0.kept) = (freed != nil, kept) }
    }

    /// Ends the staging after the content was published.
    ///
    /// - Parameter freed: bytes that the replaced file frees; nil if no file was replaced.
    func published(_ size: UInt64, replacing freed: UInt64?, kept: KeptFile?) {
        guard close() else { return }
        if let recorded { store.forgetStaged(recorded, self) }
        state.withLock { ($0.hasReplaced, $0.kept) = (freed != nil, kept) }
        scratch.discard()
        hold?.publish(size, replacing: freed ?? 0)
    }

    private func close() -> Bool {
        state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
    }
}

/// Finds no blocks: the records of parts say which ones have arrived (`PartStore.records`).
package struct ClusterSurvey: ContentSurvey {
    package mutating func step(threads: Int) throws(Failure) -> [SurveyedBlock]? { nil }
}

extension PlacedContent {
    /// - Parameters:
    ///   - found: extents in any order, without overlaps.
    ///   - size: bytes of the content.
    init(_ found: [Extent], _ objects: [ObjectRow], size: UInt64) {
        let extents = found.sorted { $0.range.lowerBound < $1.range.lowerBound }
        let filled = extents.reduce(0) { $0 + $1.count }
        // Objects have no row yet, so those that ended up without content get none.
        let used = Set(extents.map(\.object))
        self.objects = objects.filter { used.contains($0.number) }
        if size == 0 {
            bytes = .whole(.none, at: 0)
        } else if extents.count == 1, extents[0].range == 0..<size {
            bytes = .whole(extents[0].object, at: extents[0].start)
        } else {
            (bytes, self.extents) = (.extents(filled: filled), extents)
        }
    }
}

extension Extent {
    /// The extent without some bytes.
    func without(_ taken: Range<UInt64>) -> [Extent] {
        let before = range.lowerBound..<max(range.lowerBound, min(range.upperBound, taken.lowerBound))
        let behind = min(range.upperBound, max(range.lowerBound, taken.upperBound))..<range.upperBound
        return [before, behind].compactMap { clamped(to: $0) }
    }
}
