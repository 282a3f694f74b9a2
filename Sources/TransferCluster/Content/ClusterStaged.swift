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

/// A place for the bytes of one upload. Long content goes to the bucket while it arrives, in segments; short content, and
/// the description of any content, when it is published, together with that of other uploads.
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
        /// The epoch of an unfinished upload that this server has seen last; nil for other content.
        var epoch: UInt64?
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
    private let id: UploadID
    /// The ID of an upload whose parts are recorded; nil for other content.
    let recorded: UploadID?
    private let state = Locked(State())
    package let isNew: Bool

    init(
        of store: ClusterStore, for id: UploadID, hold: SpaceHold?, isRecorded: Bool = false, isNew: Bool = true
    ) {
        (self.store, self.id, self.hold, self.isNew) = (store, id, hold, isNew)
        recorded = isRecorded ? id : nil
        scratch = ScratchBytes(in: store.scratch)
    }

    /// Content whose bytes are in objects that have rows.
    convenience init(of store: ClusterStore, for id: UploadID, sharing extents: [Extent]) {
        self.init(of: store, for: id, hold: nil)
        state.withLock { $0.extents = extents }
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
        try object(range, ObjectFooter(ObjectFooter.Segment(of: id, at: range.lowerBound)))
    }

    private func object(_ range: Range<UInt64>, _ footer: ObjectFooter) throws(Failure) -> Extent {
        let number = try store.objects.put(range.upperBound - range.lowerBound, footer) {
            [scratch] (offset, space) throws(Failure) in
            try scratch.read(into: space, at: range.lowerBound + offset)
        }
        return Extent(range, in: number, from: 0)
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
        let stored = try storeBytes(in: [range])
        scratch.forget(range)
        return stored
    }

    /// Stores the bytes that have arrived in some ranges, and keeps them here as well.
    private func storeBytes(
        in ranges: [Range<UInt64>]
    ) throws(Failure) -> (extents: [Extent], objects: [ObjectRow]) {
        var extents: [Extent] = []
        for bytes in ranges.flatMap({ scratch.present.clamped(to: $0) }) {
            var start = bytes.lowerBound
            while start < bytes.upperBound {
                let end = min(bytes.upperBound, start + Self.segment)
                extents.append(try object(start..<end))
                start = end
            }
        }
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
                extents += found?.parts.flatMap(\.extents) ?? []
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

    /// What is left to be stored of a publication.
    enum Rest {
        /// Bytes for a pack, perhaps none, and the description of the file.
        case piece(PackWriter.Piece, PlacedContent)
        /// All is stored, and described.
        case placed(PlacedContent)
    }

    /// Stores what is too long for a pack.
    ///
    /// - Parameter moment: when the upload is published; UTC, in nanoseconds since 1970.
    func place(_ publication: Publication, at moment: Int64) throws(Failure) -> Rest {
        let size = publication.size
        if let source = state.withLock({ $0.source }) {
            guard source.node.file?.size == size else {
                throw Failure(.fileChanged, "The content that was to be shared has another size.")
            }
            var placed = PlacedContent(source.extents, [], size: size)
            placed.source = source.node
            return piece([], 0..<0, placed, publication, moment)
        }
        if recorded != nil { return piece([], 0..<0, try assembled(size, publication.digest), publication, moment) }
        var ranges = scratch.present.clamped(to: 0..<size)
        let last = ranges.popLast() ?? 0..<0
        for range in ranges { try put(range) }
        if last.upperBound - last.lowerBound <= UInt64(Self.mostInPack) {
            var bytes = [UInt8](repeating: 0, count: Int(last.upperBound - last.lowerBound))
            try bytes.withSpace { (space) throws(Failure) in try scratch.read(into: space, at: last.lowerBound) }
            return piece(bytes, last, stored(size), publication, moment)
        }
        // The last bytes of a long file, in an object that also describes the file.
        let rest = PackWriter.Piece(
            bytes: [], range: last, file: DescribedFile(publication, at: moment, stored(size).extents))
        var footer = ObjectFooter()
        footer.files = [rest.described(at: 0)]
        let extent = try object(last, footer)
        let live = extent.count + (last == 0..<size ? 0 : 1)
        let row = ObjectRow(extent.object, size: live, live: live)
        state.withLock { $0.objects.append(row) }
        return .placed(stored(size).joined(with: extent, describedIn: row, size: size))
    }

    private func piece(
        _ bytes: [UInt8], _ range: Range<UInt64>, _ placed: PlacedContent, _ publication: Publication, _ moment: Int64
    ) -> Rest {
        let file = DescribedFile(publication, at: moment, placed.extents)
        return .piece(PackWriter.Piece(bytes: bytes, range: range, file: file), placed)
    }

    /// The content that is in segments, which no object describes yet.
    private func stored(_ size: UInt64) -> PlacedContent {
        let (extents, objects) = state.withLock { ($0.extents, $0.objects) }
        return PlacedContent(extents.compactMap { $0.clamped(to: 0..<size) }, objects, size: size)
    }

    /// - Parameter digest: the digest of the content, as this server has verified it.
    private func assembled(_ size: UInt64, _ digest: Digest) throws(Failure) -> PlacedContent {
        let found = try store.ask { () throws(LedgerError) in try store.ledger.upload(id) }
        guard let found else { throw .takenOver }
        var (extents, objects) = (found.parts.flatMap(\.extents).compactMap { $0.clamped(to: 0..<size) }, [ObjectRow]())
        if let append = found.row.append {
            guard state.withLock({ $0.epoch }) == found.row.epoch else { throw .takenOver }
            // The bytes of the last request need not be kept before they are published.
            let rest = try storeBytes(in: [min(append.kept.offset, size)..<size])
            extents += rest.extents
            objects = rest.objects
        } else {
            // Another server may have taken the upload over and removed parts since this one has verified them.
            guard found.parts.have(digest, size) else { throw .takenOver }
        }
        var placed = PlacedContent(extents, objects, size: size)
        placed.upload = found
        return placed
    }

    /// Notes the epoch in which this server works on an unfinished upload, so that it neither publishes nor removes what
    /// belongs to a later one.
    func opened(in epoch: UInt64) { state.withLock { $0.epoch = epoch } }

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
        try? store.removePart(recorded, in: state.withLock { $0.epoch })
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

extension [PartRow] {
    /// Whether the parts are all of the content with a digest. A block in pieces, which has no recorded digest, only has
    /// to be there.
    fileprivate func have(_ digest: Digest, _ size: UInt64) -> Bool {
        var end: UInt64 = 0
        for part in map(\.part) {
            guard part.range.lowerBound == end else { return false }
            end = part.range.upperBound
        }
        guard end == size else { return false }
        let function = digest.algorithm.function
        return contains(where: \.part.isPiece) || BlockTree.root(flatMap(\.part.digests), function) == digest
    }
}

extension PlacedContent {
    /// Content that is in objects and not described yet.
    ///
    /// - Parameters:
    ///   - found: extents in any order, without overlaps.
    ///   - size: bytes of the content.
    init(_ found: [Extent], _ objects: [ObjectRow], size: UInt64) {
        let extents = found.sorted { $0.range.lowerBound < $1.range.lowerBound }
        // Objects have no row yet, so those that ended up without content get none.
        let used = Set(extents.map(\.object))
        self.objects = objects.filter { used.contains($0.number) }
        (bytes, self.extents) = (.extents(filled: extents.reduce(0) { $0 + $1.count }), extents)
    }

    /// The content with its last bytes, and with the object that describes it.
    ///
    /// - Parameters:
    ///   - extent: the last bytes, in `object`; nil if all bytes are in other objects.
    ///   - start: where the bytes of an empty file would be.
    func joined(
        with extent: Extent?, describedIn object: ObjectRow, at start: UInt64 = 0, size: UInt64
    ) -> PlacedContent {
        var placed = self
        placed.extents = (extents + (extent.map { [$0] } ?? [])).sorted { $0.range.lowerBound < $1.range.lowerBound }
        if !objects.contains(where: { $0.number == object.number }) { placed.objects.append(object) }
        if size == 0 {
            placed.bytes = .whole(object.number, at: start)
        } else if let extent, extent.range == 0..<size {
            (placed.bytes, placed.extents) = (.whole(extent.object, at: extent.start), [])
        } else {
            let filled = placed.extents.reduce(0) { $0 + $1.count }
            placed.bytes = .extents(filled: filled, described: object.number)
        }
        return placed
    }
}

extension [UInt8] {
    /// The memory of the array, like `withUnsafeMutableBytes`, which loses the type of errors.
    mutating func withSpace(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var failure: Failure?
        withUnsafeMutableBytes { space in
            do throws(Failure) { try body(space) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

extension Extent {
    /// The extent without some bytes.
    func without(_ taken: Range<UInt64>) -> [Extent] {
        range.without(taken).compactMap { clamped(to: $0) }
    }
}

extension Range<UInt64> {
    /// What is left of the range before and behind another one; either can be empty.
    fileprivate func without(_ taken: Range<UInt64>) -> [Range<UInt64>] {
        let before = lowerBound..<Swift.max(lowerBound, Swift.min(upperBound, taken.lowerBound))
        let behind = Swift.min(upperBound, Swift.max(lowerBound, taken.upperBound))..<upperBound
        return [before, behind].filter { !$0.isEmpty }
    }
}
