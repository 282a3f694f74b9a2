import TransferCodec
package import TransferModel
package import TransferPorts
import TransferSystem

/// The state of an append upload besides its bytes.
struct MemoryAppend: Sendable {
    let declaration: [UInt8]
    var kept: AppendMark
    var noted: AppendMark
    var written: Int64

    init(_ function: DigestFunction, _ declaration: [UInt8], written: Int64) {
        (self.declaration, self.written) = (declaration, written)
        (kept, noted) = (AppendMark(function), AppendMark(function))
    }
}

/// An append upload in memory. Used by one thread at a time.
package final class MemoryAppendable: AppendableContent {
    private let id: UploadID
    private let staged: MemoryStaged
    private let medium: MemoryMedium
    package let declaration: [UInt8]
    package let isLost = false

    init(_ id: UploadID, _ staged: MemoryStaged, _ declaration: [UInt8], in medium: MemoryMedium) {
        (self.id, self.staged, self.declaration, self.medium) = (id, staged, declaration, medium)
    }

    package var content: any StagedContent { staged }

    package var kept: AppendMark { medium.state.withLock { $0.appends[id]?.kept } ?? AppendMark() }

    package func read(
        _ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let bytes = staged.part.bytes
        guard range.upperBound <= bytes.size else { throw .appendLost }
        try bytes.forEachPiece(of: range) { (piece) throws(Failure) in try body(piece) }
    }

    package func keep(_ mark: AppendMark) throws(Failure) { change { ($0.kept, $0.noted) = (mark, mark) } }

    package func note(_ mark: AppendMark) { change { $0.noted = mark } }

    private func change(_ body: (inout MemoryAppend) -> Void) {
        let now = medium.clock()
        medium.state.withLock { state in
            guard var append = state.appends[id] else { return }
            body(&append)
            append.written = now
            state.appends[id] = append
        }
    }

    package func discard() {
        staged.discard()
        medium.state.withLock { $0.appends[id] = nil }
    }

    package func forgetIfGone() {
        medium.state.withLock { state in
            if state.parts[id] !== staged.part { state.appends[id] = nil }
        }
    }
}

extension MemoryStore: AppendStore {
    package func makeAppendable(
        id: UploadID, size: UInt64?, function: DigestFunction, declaration: [UInt8], quota: Quota?
    ) throws(Failure) -> MemoryAppendable {
        let staged = try resume(id: id, size: size, filled: nil, quota: quota)
        guard staged.isNew else {
            staged.giveBackRoom()
            throw .takenID
        }
        let append = MemoryAppend(function, declaration, written: medium.clock())
        medium.state.withLock { $0.appends[id] = append }
        return MemoryAppendable(id, staged, declaration, in: medium)
    }

    package func appendable(
        id: UploadID, quota: Quota?,
        to target: (_ declaration: [UInt8], _ function: DigestFunction) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> MemoryAppendable? {
        guard let append = try with({ $0.appends[id] }) else { return nil }
        if try with({ $0.parts[id] == nil }), try !bringBack(id, append, quota: quota, to: target) {
            medium.state.withLock { $0.appends[id] = nil }
            return nil
        }
        let staged = try part(id, size: nil, quota: quota)
        let kept = try with { $0.appends[id]?.kept } ?? AppendMark()
        try staged.trim(to: kept.offset)
        staged.giveBackRoom()
        try staged.hold?.grow(to: kept.offset)
        return MemoryAppendable(id, staged, append.declaration, in: medium)
    }

    /// Recreates the part of an upload that was published but never ended, from the published file.
    private func bringBack(
        _ id: UploadID, _ append: MemoryAppend, quota: Quota?,
        to target: (_ declaration: [UInt8], _ function: DigestFunction) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> Bool {
        let mark = append.noted
        guard mark.total == mark.offset, let target = try target(append.declaration, mark.function) else {
            return false
        }
        // Check the room first, because a part counts against the quota as soon as it exists.
        let room = try stage(id: id, size: mark.offset, filled: nil, permissions: nil, quota: quota)
        defer { room.discard() }
        let whole = ContentDigester.digest(mark.function, size: mark.offset, ofBlocks: mark.blocks + mark.tail)
        return medium.state.withLock { state in
            var path = target.path
            for number in 1...ConflictPolicy.mostNumbers {
                guard let node = state.tree.node(at: path) else { return false }
                if let bytes = node.bytes, bytes.size == mark.offset, bytes.digest(mark.function) == whole {
                    state.parts[id] = MemoryPart(clock: medium.clock, bytes)
                    state.appends[id]?.kept = mark
                    return true
                }
                guard target.conflict == .keepBoth, let next = try? target.path.numbered(number) else { return false }
                path = next
            }
            return false
        }
    }
}
