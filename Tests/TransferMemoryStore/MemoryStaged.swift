package import TransferModel
package import TransferPorts
import TransferSystem

/// The bytes of an unfinished upload, shared by all `MemoryStaged` objects that have it open.
final class MemoryPart: Sendable {
    struct State: Sendable {
        var bytes = PagedBytes()
        /// The number of bytes for which room is reserved.
        var reserved: UInt64 = 0
        var written: Int64
        /// The epoch of the recorded parts. It is 0 only for content that never has recorded parts.
        var epoch: UInt64 = 0
        /// The recorded parts, in the order of their ranges.
        var verified: [RecordedPart] = []
    }

    let state: Locked<State>
    private let clock: @Sendable () -> Int64

    init(clock: @escaping @Sendable () -> Int64, _ bytes: PagedBytes = PagedBytes(), epoch: UInt64 = 0) {
        self.clock = clock
        state = Locked(State(bytes: bytes, written: clock(), epoch: epoch))
    }

    var bytes: PagedBytes { state.withLock { $0.bytes } }

    /// The number of bytes that need room: the present or the reserved ones, whichever are more.
    var size: UInt64 { state.withLock { max($0.reserved, $0.bytes.size) } }

    var unfinished: UnfinishedPart {
        state.withLock { UnfinishedPart(size: max($0.reserved, $0.bytes.size), written: $0.written) }
    }

    func change(_ body: (inout PagedBytes) -> Void) {
        let now = clock()
        state.withLock { state in
            body(&state.bytes)
            state.written = now
        }
    }

    func copy() -> MemoryPart {
        let copy = MemoryPart(clock: clock)
        let state = state.withLock(\.self)
        copy.state.withLock { $0 = state }
        return copy
    }
}

/// A place in memory for the bytes of one upload.
package final class MemoryStaged: StagedContent {
    private struct State: Sendable {
        /// Whether the content is neither published nor discarded.
        var isOpen = true
        var hasReplaced = false
        var kept: KeptFile?
    }

    let part: MemoryPart
    let hold: SpaceHold?

    /// The ID of a resumable upload; nil if its bytes are discarded with its connection.
    private let id: UploadID?
    private let store: MemoryStore
    private let state = Locked(State())
    package let isNew: Bool

    init(_ part: MemoryPart, of store: MemoryStore, hold: SpaceHold?, as id: UploadID? = nil, isNew: Bool = true) {
        (self.part, self.store, self.hold, self.id, self.isNew) = (part, store, hold, id, isNew)
    }

    package var hasReplaced: Bool { state.withLock { $0.hasReplaced } }
    package var kept: KeptFile? { state.withLock { $0.kept } }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        let end = offset.addingClamped(UInt64(bytes.count))
        try MemoryMedium.check(end)
        try hold?.grow(to: end)
        part.change { $0.write(bytes, at: offset) }
    }

    package func clear(_ range: Range<UInt64>) throws(Failure) {
        guard !range.isEmpty else { return }
        try MemoryMedium.check(range.upperBound)
        try hold?.grow(to: range.upperBound)
        part.change { $0.clear(range) }
    }

    package func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> MemorySurvey {
        MemorySurvey(part.bytes, total: total, function)
    }

    package func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        part.bytes.digest(of: range, function)
    }

    package func trim(to size: UInt64) throws(Failure) { part.change { $0.truncate(to: size) } }

    package func giveBackRoom() {
        let size = part.state.withLock { state in
            state.reserved = 0
            return state.bytes.size
        }
        hold?.shrink(to: size)
    }

    package func discard() {
        guard close() else { return }
        forgetPart()
        hold?.giveBack()
    }

    /// Ends the staging after the content was published.
    ///
    /// - Parameter old: the number of bytes that the replaced file frees; nil if no file was replaced.
    func published(replacing old: UInt64?, kept: KeptFile?) {
        guard close() else { return }
        state.withLock { ($0.hasReplaced, $0.kept) = (old != nil, kept) }
        hold?.publish(part.bytes.size, replacing: old ?? 0)
    }

    /// Called if an upload could not be published now. A resumable upload stays, and a client that sends it again
    /// resumes it.
    func discardUnlessResumable() { if id == nil { discard() } }

    /// The ID of the upload; nil if it is not resumable.
    var resumableID: UploadID? { id }

    private func forgetPart() {
        guard let id else { return }
        store.medium.state.withLock { state in
            if state.parts[id] === part { state.parts[id] = nil }
        }
    }

    /// - Returns: whether the content was open.
    private func close() -> Bool {
        state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
    }
}

/// Finds the blocks of an unfinished upload that are present.
package struct MemorySurvey: ContentSurvey {
    private let bytes: PagedBytes
    private let total: UInt64?
    private let function: DigestFunction
    private var position: UInt64 = 0

    private static let blocksPerThread = 4

    init(_ bytes: PagedBytes, total: UInt64?, _ function: DigestFunction) {
        (self.bytes, self.total, self.function) = (bytes, total, function)
    }

    package mutating func step(threads: Int) throws(Failure) -> [SurveyedBlock]? {
        var blocks: [SurveyedBlock] = []
        let end = min(bytes.size, total ?? bytes.size)
        while blocks.count < max(1, threads) * Self.blocksPerThread, position < end {
            let range = position..<min(position + UInt64(Limits.blockSize), total ?? .max)
            position += UInt64(Limits.blockSize)
            guard range.upperBound <= bytes.size, bytes.hasData(in: range),
                let digest = bytes.digest(of: range, function)
            else { continue }
            blocks.append(SurveyedBlock(range, digest))
        }
        return blocks.isEmpty ? nil : blocks
    }
}

// MARK: Parts

extension MemoryStore: PartStore {
    package var records: (any PartRecords)? { MemoryPartRecords(medium) }

    package func resume(
        id: UploadID, size: UInt64?, filled: UInt64?, quota: Quota?
    ) throws(Failure) -> MemoryStaged {
        guard try with({ $0.appends[id] == nil }) else { throw .takenID }
        return try part(id, size: size, quota: quota)
    }

    /// - Throws: `busy` for a new part if the limit of unfinished uploads is reached.
    func part(_ id: UploadID, size: UInt64?, quota: Quota?) throws(Failure) -> MemoryStaged {
        try MemoryMedium.check(size ?? 0)
        try checkRoom()
        let hold = SpaceHold(space, client: quota, part: id)
        let quotas = [space?.quota, quota].compactMap(\.self)
        let before = quotas.map { $0.size(ofPart: id) }
        do throws(Failure) {
            if let size { try hold?.grow(to: size) }
            let (part, isNew) = try with { (state) throws(Failure) -> (MemoryPart, Bool) in
                if let part = state.parts[id] { return (part, false) }
                guard state.parts.count < UnfinishedContent.mostParts else {
                    throw Failure(.busy, "The server has reached its limit of unfinished uploads: try again later.")
                }
                state.lastEpoch += 1
                let part = MemoryPart(clock: medium.clock, epoch: state.lastEpoch)
                state.parts[id] = part
                return (part, true)
            }
            if let size { part.state.withLock { $0.reserved = max($0.reserved, size) } }
            return MemoryStaged(part, of: self, hold: hold, as: id, isNew: isNew)
        } catch {
            let isThere = hasPart(id)
            for (quota, size) in zip(quotas, before) { quota.release(part: id, but: isThere ? size : 0) }
            throw error
        }
    }

    package func hasPart(_ id: UploadID) -> Bool {
        medium.state.withLock { $0.parts[id] != nil || $0.appends[id] != nil }
    }

    package func part(_ id: UploadID) -> UnfinishedPart? { medium.state.withLock { $0.parts[id]?.unfinished } }

    package func removePart(_ id: UploadID) throws(Failure) {
        medium.state.withLock { state in
            state.parts[id] = nil
            state.appends[id] = nil
        }
        space?.quota?.release(part: id)
    }

    package func unfinished() throws(Failure) -> UnfinishedContent { medium.unfinished }

    /// Removes nothing: content that no client can resume ends with its server.
    package func removeLeftovers() throws(Failure) -> UnfinishedContent { UnfinishedContent() }

    package func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent {
        var removed = UnfinishedContent()
        let parts = medium.state.withLock { $0.parts }
        for (id, part) in parts where isOld(Int(part.unfinished.written / 1_000_000_000)) && !isInUse(id) {
            try removePart(id)
            removed.count += 1
            removed.bytes = removed.bytes.addingClamped(part.size)
        }
        medium.state.withLock { state in
            for (id, append) in state.appends
            where state.parts[id] == nil && isOld(Int(append.written / 1_000_000_000)) && !isInUse(id) {
                state.appends[id] = nil
            }
        }
        return removed
    }
}

/// The verified parts of uploads, which are recorded beside their bytes.
struct MemoryPartRecords: PartRecords {
    private let medium: MemoryMedium

    init(_ medium: MemoryMedium) { self.medium = medium }

    func join(_ id: UploadID) throws(Failure) -> RecordedParts { try with(id) { $0.recorded } }

    func takeOver(_ id: UploadID) throws(Failure) -> RecordedParts {
        try medium.state.withLock { (state) throws(Failure) in
            guard let part = state.parts[id] else { throw .takenOver }
            state.lastEpoch += 1
            let epoch = state.lastEpoch
            return part.state.withLock { part in
                part.epoch = epoch
                return part.recorded
            }
        }
    }

    func withdraw(_ range: Range<UInt64>, of id: UploadID, epoch: UInt64) throws(Failure) {
        try with(id) { (part) throws(Failure) in
            guard part.epoch == epoch else { throw .takenOver }
            part.verified = part.verified.flatMap { $0.without(range) }
        }
    }

    func add(_ new: RecordedPart, to id: UploadID, epoch: UInt64) throws(Failure) {
        try with(id) { (part) throws(Failure) in
            guard part.epoch == epoch else { throw .takenOver }
            let others = part.verified.flatMap { $0.without(new.range) }
            part.verified = (others + [new]).sorted { $0.range.lowerBound < $1.range.lowerBound }
        }
    }

    func remove(_ id: UploadID, below size: UInt64) throws(Failure) -> Bool {
        medium.state.withLock { state in
            guard let part = state.parts[id] else { return true }
            let verified = part.state.withLock { $0.verified.map(\.range) }
            guard verified.reduce(0, { $0 + ($1.upperBound - $1.lowerBound) }) < size else { return false }
            state.parts[id] = nil
            return true
        }
    }

    private func with<T>(_ id: UploadID, _ body: (inout MemoryPart.State) throws(Failure) -> T) throws(Failure) -> T {
        guard let part = medium.state.withLock({ $0.parts[id] }) else { throw .takenOver }
        return try part.state.withLock { (state) throws(Failure) in try body(&state) }
    }
}

extension MemoryPart.State {
    fileprivate var recorded: RecordedParts { RecordedParts(epoch: epoch, verified) }
}

extension MemoryMedium {
    /// The number and the size of unfinished uploads.
    var unfinished: UnfinishedContent {
        state.withLock { state in
            var found = UnfinishedContent()
            for part in state.parts.values {
                found.count += 1
                found.bytes = found.bytes.addingClamped(part.size)
            }
            return found
        }
    }
}

extension Failure {
    static let takenID = Failure(.contentMismatch, "The upload id is in use for other content.")
}
