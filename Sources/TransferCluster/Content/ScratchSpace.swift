internal import CLinux
import Glibc
import Synchronization
import TransferModel
package import TransferSystem

/// Room on this machine for bytes that have arrived and are in no object yet: some memory, and files without a name in a
/// directory. Nothing in it is ever needed after a crash. Safe to use from any thread.
package final class ScratchSpace: Sendable {
    /// Bytes of content that may be in memory at a time: as much as all clients together have on the way to their
    /// packs. More goes to files.
    package static let usualMemory = 32 << 20

    private let directory: Int32?
    private let memory: Int
    private let used = Atomic(0)

    /// - Parameters:
    ///   - path: the directory for files without a name; nil to keep everything in memory.
    ///   - memory: bytes that may be in memory.
    /// - Throws: if the directory cannot be opened.
    package init(path: String?, memory: Int = usualMemory) throws(SystemError) {
        self.memory = path == nil ? .max : memory
        directory = try path.map { (path) throws(SystemError) in
            try system("open") { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        }
    }

    deinit {
        if let directory { close(directory) }
    }

    /// Whether there are no files, so that everything is in memory: in tests.
    var isMemoryOnly: Bool { directory == nil }

    func takeMemory(_ count: Int) -> Bool {
        guard used.add(count, ordering: .relaxed).newValue > memory else { return true }
        giveBackMemory(count)
        return false
    }

    func giveBackMemory(_ count: Int) { used.subtract(count, ordering: .relaxed) }

    /// Makes a file without a name.
    func makeFile() throws(SystemError) -> Descriptor {
        guard let directory else { throw SystemError(errno: ENOSPC, call: "open") }
        return Descriptor(
            try system("openat") { openat(directory, ".", clinux_o_tmpfile | O_RDWR | O_CLOEXEC, mode_t(0o600)) })
    }
}

/// Bytes of one upload that have arrived here and are in no object yet. Several threads may write at once, each its own
/// bytes.
final class ScratchBytes: Sendable {
    private struct State {
        /// The bytes that are here.
        var present = ByteRanges()
        /// The bytes from offset 0 on while all of them are in memory; not used once there is a file.
        var memory: [UInt8] = []
        /// Bytes that are taken from the memory of the scratch space.
        var taken = 0
        /// The descriptor of the file, which this object closes; nil without a file.
        var file: Int32?
    }

    /// The most bytes of one upload in memory: longer content goes to a file.
    static let mostInMemory = 1 << 20

    private let space: ScratchSpace
    private let state = Locked(State())

    init(in space: ScratchSpace) { self.space = space }

    deinit { discard() }

    /// The bytes that are here.
    var present: ByteRanges { state.withLock { $0.present } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        guard !bytes.isEmpty else { return }
        let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow, end <= Limits.uploadSize else { throw .tooLong }
        let file = try state.withLock { (state) throws(Failure) -> Int32? in
            if state.file == nil, !fits(end, &state) { try moveToFile(&state) }
            if let file = state.file { return file }
            // Trap: `fits` has checked that the end is at most `mostInMemory`.
            let (start, end) = (Int(offset), Int(end))
            if state.memory.count < end {
                state.memory += [UInt8](repeating: 0, count: end - state.memory.count)
            }
            state.memory.withUnsafeMutableBytes { memory in
                UnsafeMutableRawBufferPointer(rebasing: memory[start..<end]).copyMemory(from: bytes)
            }
            state.present.insert(offset..<UInt64(end))
            return nil
        }
        guard let file else { return }
        try Self.pwrite(file, bytes, at: offset)
        state.withLock { $0.present.insert(offset..<end) }
    }

    /// Reserves memory for the bytes up to `end`, if they may be in memory.
    private func fits(_ end: UInt64, _ state: inout State) -> Bool {
        guard end <= UInt64(Self.mostInMemory) || space.isMemoryOnly else { return false }
        let more = Int(end) - state.taken
        guard more > 0 else { return true }
        guard space.takeMemory(more) else { return false }
        state.taken += more
        return true
    }

    private func moveToFile(_ state: inout State) throws(Failure) {
        let file: Int32
        do throws(SystemError) { file = try space.makeFile().release() } catch { throw .scratch(error) }
        state.file = file
        try state.memory.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try Self.pwrite(file, bytes, at: 0) }
        state.memory = []
        space.giveBackMemory(state.taken)
        state.taken = 0
    }

    private static func pwrite(_ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        var (rest, position) = (bytes, offset)
        while !rest.isEmpty {
            do throws(SystemError) {
                let count = try system("pwrite") { Glibc.pwrite(file, rest.baseAddress, rest.count, off_t(position)) }
                guard count > 0 else { throw SystemError(errno: EIO, call: "pwrite") }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                position += UInt64(count)
            } catch {
                throw .scratch(error)
            }
        }
    }

    /// Fills a buffer with bytes from an offset on; bytes that are not here are zeros.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) {
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        try state.withLock { (state) throws(Failure) in
            for range in state.present.clamped(to: offset..<offset + UInt64(buffer.count)) {
                // Trap: the range is within the buffer, because it was clamped.
                let place = UnsafeMutableRawBufferPointer(
                    rebasing: buffer[Int(range.lowerBound - offset)..<Int(range.upperBound - offset)])
                if let file = state.file {
                    try Self.pread(file, into: place, at: range.lowerBound)
                } else {
                    // Trap: bytes that are present are in memory.
                    place.copyBytes(from: state.memory[Int(range.lowerBound)..<Int(range.upperBound)])
                }
            }
        }
    }

    private static func pread(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(Failure) {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            do throws(SystemError) {
                let place = off_t(offset) + off_t(filled)
                let count = try system("pread") { Glibc.pread(file, rest.baseAddress, rest.count, place) }
                guard count > 0 else { throw SystemError(errno: EIO, call: "pread") }
                filled += count
            } catch {
                throw .scratch(error)
            }
        }
    }

    /// Lets go of some bytes, which are in an object now or became a hole.
    func forget(_ range: Range<UInt64>) {
        state.withLock { state in
            state.present.remove(range)
            if let file = state.file {
                // If this fails, the room is given back with the file.
                _ = clinux_fallocate(
                    file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(clamping: range.lowerBound),
                    off_t(clamping: range.upperBound - range.lowerBound))
            }
        }
    }

    func discard() {
        state.withLock { state in
            space.giveBackMemory(state.taken)
            state.taken = 0
            state.memory = []
            if let file = state.file { close(file) }
            state.file = nil
            state.present = ByteRanges()
        }
    }
}

extension Failure {
    fileprivate static let tooLong = Failure(.uploadTooLarge, "The upload is longer than any file can be.")

    fileprivate static func scratch(_ error: SystemError) -> Failure {
        Failure(
            error.errno == ENOSPC || error.errno == EDQUOT ? .insufficientStorage : .storageFailed,
            "The server cannot keep the upload until it is in the bucket (\(error)): its --scratch directory needs room."
        )
    }
}

/// A set of bytes of a file, as ranges in order, which neither overlap nor touch.
struct ByteRanges: Equatable, Sendable {
    private(set) var ranges: [Range<UInt64>] = []

    init(_ ranges: [Range<UInt64>] = []) { for range in ranges { insert(range) } }

    mutating func insert(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        // Nearly always, bytes come in order.
        if let last = ranges.last, last.upperBound == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            return
        }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        let end = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.count
        var joined = range
        if first < end {
            joined = min(range.lowerBound, ranges[first].lowerBound)..<max(range.upperBound, ranges[end - 1].upperBound)
        }
        ranges.replaceSubrange(first..<end, with: [joined])
    }

    mutating func remove(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        ranges = ranges.flatMap { known in
            [
                known.lowerBound..<max(known.lowerBound, min(known.upperBound, range.lowerBound)),
                min(known.upperBound, max(known.lowerBound, range.upperBound))..<known.upperBound,
            ].filter { !$0.isEmpty }
        }
    }

    /// The bytes that are also in a range.
    func clamped(to bounds: Range<UInt64>) -> [Range<UInt64>] {
        ranges.map { $0.clamped(to: bounds) }.filter { !$0.isEmpty }
    }

    func contains(_ range: Range<UInt64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && $0.upperBound >= range.upperBound }
    }
}
