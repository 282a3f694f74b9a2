internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// An append upload in a directory store: its bytes, as a part that can be published, and the sheet that records how
/// many are durable.
///
/// A slot is written, then the bytes, the digests and the slot are synced together. After a crash of the machine, the
/// digests show whether the bytes are on disk. If only the process has ended, a slot whose sync is not known to have
/// succeeded does not count, because bytes that a failed sync has left in memory look like bytes on disk. In both cases
/// the client has not heard of the slot, and the previous one counts.
///
/// `@unchecked Sendable`: one thread at a time works on it, the one that has claimed the upload.
package final class AppendableFile: AppendableContent, @unchecked Sendable {
    package private(set) var kept: AppendMark
    package private(set) var isLost = false

    private let staged: StagedFile
    private let sheet: AppendSheet
    private let id: UploadID
    /// The sequence number and place of the newest slot.
    private var newest: (sequence: UInt64, place: Int)
    /// Whether the names of the part and the sheet are durable.
    private var isNamed: Bool

    private var incoming: Incoming { staged.incoming }
    private var disk: Disk { staged.disk }

    /// Bytes that are read at once.
    private static let readSize = 256 << 10

    package var content: any StagedContent { staged }
    package var declaration: [UInt8] { sheet.declaration }

    private init(
        _ staged: StagedFile, _ sheet: AppendSheet, _ id: UploadID, _ kept: AppendMark, newest: (UInt64, Int),
        isNamed: Bool
    ) {
        (self.staged, self.sheet, self.id, self.kept) = (staged, sheet, id, kept)
        (self.newest, self.isNamed) = (newest, isNamed)
        staged.hasSheet = true
    }

    /// A new upload, which has no bytes yet.
    convenience init(_ staged: StagedFile, _ sheet: AppendSheet, _ id: UploadID) {
        self.init(staged, sheet, id, AppendMark(sheet.function), newest: (0, 1), isNamed: false)
    }

    package func read(
        _ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(UInt64(Self.readSize), range.upperBound - position))))
            let count = try attempt("read the stored part") { () throws(SystemError) in
                try disk.read(staged.number, into: wanted, at: position)
            }
            guard count > 0 else { throw .appendLost }
            try body(UnsafeRawBufferPointer(rebasing: wanted[..<count]))
            position += UInt64(count)
        }
    }

    package func discard() {
        // The sheet is removed last: without it the bytes would look like an ordinary part, and bytes that a failed
        // sync has lost would count.
        if staged.remove() { sheet.remove() }
    }

    package func forgetIfGone() {
        if case .none = staged.place { sheet.remove() }
    }
}

// MARK: Keeping

extension AppendableFile {
    package func keep(_ mark: AppendMark) throws(Failure) {
        guard mark != kept || !isNamed else { return }
        try attempt("make the stored part durable") { () throws(SystemError) in
            let (sequence, place) = try write(mark, isDurable: incoming.committer.isNeeded)
            var files: [any SyncableFile & Sendable] = [staged, sheet]
            if !isNamed { files.append(incoming.directory) }
            let request = SharedSync.Request(
                files: files, bytes: max(1, mark.offset - min(kept.offset, mark.offset)),
                failures: staged.failures)
            try sync(request)
            try sheet.settle(sequence)
            newest = (sequence, place)
        }
        (kept, isNamed) = (mark, true)
    }

    package func note(_ mark: AppendMark) {
        // Ignore errors: without the note, a crash at this moment costs the client only a repetition.
        _ = try? write(mark, isDurable: false)
    }

    /// - Returns: the sequence number and place of the slot that was written.
    private func write(_ mark: AppendMark, isDurable: Bool) throws(SystemError) -> (sequence: UInt64, place: Int) {
        let slot = AppendSlot(sequence: newest.sequence + 1, mark: mark, isDurable: isDurable, boot: boot)
        let place = 1 - newest.place
        let known = kept.blocks.count
        try sheet.write(digests: mark.blocks[min(known, mark.blocks.count)...], first: known / mark.function.size)
        try sheet.write(slot, place: place)
        return (slot.sequence, place)
    }

    /// A failed write leaves the bytes that were kept before, and their slot. After a failed sync the state of the
    /// bytes is unknown; if the sync could not begin, because the mark could not be set, nothing has changed.
    private func sync(_ request: SharedSync.Request) throws(SystemError) {
        let begun = incoming.committer.syncsBegun
        do throws(SystemError) {
            try incoming.appendSyncs.run(request)
        } catch {
            isLost = isLost || incoming.committer.syncsBegun != begun
            throw error
        }
    }

    /// A digest of the kernel's present boot ID.
    private var boot: [UInt8] { AppendSlot.check(Array(disk.boot.utf8)) }

    private var knowsBoot: Bool { !disk.boot.utf8.elementsEqual(BootID.unknown.utf8) }
}

// MARK: Finding it again

extension AppendableFile {
    /// Opens an upload that an earlier server, or this one, has left.
    static func found(_ staged: StagedFile, _ sheet: AppendSheet, _ id: UploadID) throws(Failure) -> AppendableFile {
        let file = AppendableFile(staged, sheet, id, AppendMark(sheet.function), newest: (0, 1), isNamed: false)
        let slots = try attempt("read the stored part") { () throws(SystemError) in try sheet.slots() }
        let settled = try attempt("read the stored part") { () throws(SystemError) in try sheet.settled }
        for (index, (place, slot)) in slots.enumerated() {
            let before = index + 1 < slots.count ? slots[index + 1].slot : nil
            guard let mark = try file.mark(slot, before: before, settled: settled) else { continue }
            // The next slot overwrites the one that does not count.
            (file.kept, file.newest, file.isNamed) = (mark, (slots[0].slot.sequence, place), slot.isDurable)
            return file
        }
        if let sequence = slots.first?.slot.sequence { file.newest.sequence = sequence }
        return file
    }

    /// - Returns: nil if the slot does not count.
    private func mark(_ slot: AppendSlot, before: AppendSlot?, settled: UInt64) throws(Failure) -> AppendMark? {
        let block = UInt64(Limits.blockSize)
        // A slot with more bytes than the file does not count.
        let size = try size
        guard let count = Int(exactly: slot.offset / block), slot.offset <= size,
            let digests = try attempt(
                "read the stored part",
                { () throws(SystemError) in
                    try sheet.digests(count)
                })
        else { return nil }
        let mark = AppendMark(
            sheet.function, offset: slot.offset, total: slot.total, blocks: digests, tail: slot.tail)
        let isOfNow = slot.boot == boot
        if slot.sequence <= settled, slot.isDurable || isOfNow { return mark }
        guard !isOfNow, knowsBoot else { return nil }
        let start = slot.isDurable ? min(before?.offset ?? 0, slot.offset) / block * block : 0
        return try holds(mark, from: start) ? mark : nil
    }

    private var size: UInt64 {
        get throws(Failure) {
            try attempt("look at the stored part") { () throws(SystemError) in
                UInt64(clamping: try disk.status(staged.number).st_size)
            }
        }
    }

    /// Whether the bytes of the file have the digests of the mark.
    ///
    /// - Parameter start: the offset to begin at; the start of a block.
    /// - Throws: if the bytes cannot be read. That does not prove that they are lost, so they must not be discarded for
    ///   it.
    private func holds(_ mark: AppendMark, from start: UInt64) throws(Failure) -> Bool {
        let block = UInt64(Limits.blockSize)
        let size = mark.function.size
        var position = start
        while position < mark.offset {
            let end = min(position + block, mark.offset)
            let number = Int(position / block)
            let expected = end - position == block ? Array(mark.blocks[number * size..<(number + 1) * size]) : mark.tail
            let found = try attempt("read the stored part") { () throws(SystemError) in
                try staged.readDigest(of: position..<end, mark.function)
            }
            guard found == expected else { return false }
            position = end
        }
        return true
    }
}
