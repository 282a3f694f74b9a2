import Glibc
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// The marks that a client has received for a growing upload stay true after a crash of the process, of the machine,
/// and of the disk.
@Suite struct AppendableFileTests {
    private static let id = UploadID(high: 7, low: 9)
    private static let content = SplitMix64.bytes(seed: 1, 2 * Limits.blockSize + 77)
    private static let disk = FileSystem(isMemory: false, syncsAsAWhole: false)

    /// A store on a machine that has booted `boots` times.
    private struct Machine {
        let temporary: TemporaryDirectory
        var boots = 1
        var durability = Durability.commit

        init() throws { temporary = try TemporaryDirectory(prefersMemory: true) }

        /// - Parameter failure: decides which sync fails.
        func store(_ failure: FailingSync = FailingSync()) throws -> FileStore {
            let disk = Disk(
                interception: { call, body in
                    if failure.refuses(call) { return -Int(ENOSPC) }
                    if failure.failsToRead(call) { return -Int(EIO) }
                    guard call.isSync else { return body() }
                    return failure.isNow() ? -Int(EIO) : 0
                }, dirtyBytes: { 0 }, boot: "boot \(boots)", isSerial: true)
            let store = try FileStore(
                path: temporary.path("store"), durability: durability, fileSystem: AppendableFileTests.disk, disk: disk)
            _ = try store.removeLeftovers()
            return store
        }

        var incoming: String { temporary.path("store/.transfer/incoming") }
        var sheet: String { incoming + "/\(AppendableFileTests.id).sheet" }
        var part: String { incoming + "/\(AppendableFileTests.id).part" }
    }

    /// Makes one sync, one read, or one kind of change fail.
    private final class FailingSync: Sendable {
        private let wait = Locked(Int.max)
        private let refused = Locked(Refused.nothing)
        private let readsLeft = Locked(Int?.none)

        /// The operation that fails: writing, renaming, or removing a part.
        enum Refused { case nothing, writing, renaming, removing }

        func refuse(_ refused: Refused) { self.refused.withLock { $0 = refused } }

        /// One read fails after `reads` successful ones.
        func failRead(after reads: Int) { readsLeft.withLock { $0 = reads } }

        /// Whether the failing read has not happened yet.
        var isReadDue: Bool { readsLeft.withLock { $0 != nil } }

        func failsToRead(_ call: DiskCall) -> Bool {
            guard case .read = call else { return false }
            return readsLeft.withLock { left in
                guard let reads = left else { return false }
                left = reads == 0 ? nil : reads - 1
                return reads == 0
            }
        }

        func refuses(_ call: DiskCall) -> Bool {
            switch (call, refused.withLock { $0 }) {
            case (.write, .writing), (.rename, .renaming): true
            case (.unlink(_, let name), .removing): name.hasSuffix(StagedFile.partSuffix)
            default: false
            }
        }

        /// - Parameter count: number of syncs that succeed before the failing one.
        func arm(after count: Int) { wait.withLock { $0 = count } }

        func isNow() -> Bool {
            wait.withLock { wait in
                wait -= 1
                return wait == -1
            }
        }
    }

    /// Writes the content up to `end` and returns the mark for it.
    private static func write(_ file: AppendableFile, to end: Int, from start: Int = 0) throws -> AppendMark {
        try content[start..<end].withUnsafeBytes { try file.content.write($0, at: UInt64(start)) }
        return mark(end, file.kept.function)
    }

    private static func mark(_ end: Int, _ function: DigestFunction = .xxh128) -> AppendMark {
        let digester = ContentDigester(function)
        var mark = AppendMark(function, offset: UInt64(end))
        content[..<end].withUnsafeBytes { digester.update($0) { _, digest in mark.blocks += digest } }
        mark.tail = digester.tail
        return mark
    }

    private static let ends = [0, 1, Limits.blockSize, Limits.blockSize + 5, content.count]

    @Test(arguments: ends, DigestFunction.allCases)
    func whatIsKeptIsFound(_ end: Int, _ function: DigestFunction) throws {
        var machine = try Machine()
        var mark = Self.mark(end, function)
        mark.total = 1 << 40
        let declaration: [UInt8] = [1, 2, 3]
        let first = try machine.store()
        let made = try first.makeAppendable(id: Self.id, size: nil, function: function, declaration: declaration)
        _ = try Self.write(made, to: end)
        try made.keep(mark)
        first.unlock()
        // First in the same run of the machine, then after a reboot.
        for _ in 0..<2 {
            let store = try machine.store()
            let file = try #require(try store.appendable(id: Self.id))
            #expect(file.kept == mark && file.declaration == declaration)
            store.unlock()
            machine.boots += 1
        }
    }

    /// The process dies during a sync: the mark that it would have acknowledged does not count.
    @Test func whatNobodySawSyncedDoesNotCount() throws {
        let machine = try Machine()
        let store = try machine.store()
        let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        try file.keep(try Self.write(file, to: 100))
        _ = try Self.write(file, to: 300, from: 100)
        let settled = try #require(Files.read(machine.sheet))
        try file.keep(Self.mark(300))
        // Restores the sheet as it was before the sync succeeded.
        var pending = try #require(Files.read(machine.sheet))
        pending[33 << 10..<(33 << 10) + 24] = settled[33 << 10..<(33 << 10) + 24]
        try Files.write(pending, to: machine.sheet)
        store.unlock()
        let next = try machine.store()
        let again = try #require(try next.appendable(id: Self.id))
        #expect(again.kept == Self.mark(100))
        // The upload continues from the older mark.
        _ = try Self.write(again, to: 200, from: 100)
        try again.keep(Self.mark(200))
        next.unlock()
        #expect(try #require(try machine.store().appendable(id: Self.id)).kept == Self.mark(200))
    }

    /// After a power cut, the bytes on the disk decide whether a mark counts.
    @Test(arguments: [true, false]) func aPowerCutLeavesWhatIsThere(_ isThere: Bool) throws {
        var machine = try Machine()
        let store = try machine.store()
        let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        let (first, second) = (Limits.blockSize - 3, Limits.blockSize + 500)
        try file.keep(try Self.write(file, to: first))
        let settled = try #require(Files.read(machine.sheet))
        try file.keep(try Self.write(file, to: second, from: first))
        var pending = try #require(Files.read(machine.sheet))
        pending[33 << 10..<(33 << 10) + 24] = settled[33 << 10..<(33 << 10) + 24]
        try Files.write(pending, to: machine.sheet)
        if !isThere {
            var part = try #require(Files.read(machine.part))
            part[Limits.blockSize + 1] ^= 1
            try Files.write(part, to: machine.part)
        }
        store.unlock()
        machine.boots += 1
        let again = try #require(try machine.store().appendable(id: Self.id))
        #expect(again.kept == Self.mark(isThere ? second : first))
    }

    /// A failed read after a power cut loses no mark: whichever read fails, the acknowledged bytes are there for the
    /// next request.
    @Test func aReadThatFailsTakesNothing() throws {
        var machine = try Machine()
        let store = try machine.store()
        let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        let end = Limits.blockSize + 500
        try file.keep(try Self.write(file, to: 100))
        let settled = try #require(Files.read(machine.sheet))
        try file.keep(try Self.write(file, to: end, from: 100))
        // The process died before it knew that the sync had succeeded, so the next server has to compare the bytes.
        var pending = try #require(Files.read(machine.sheet))
        pending[33 << 10..<(33 << 10) + 24] = settled[33 << 10..<(33 << 10) + 24]
        try Files.write(pending, to: machine.sheet)
        store.unlock()
        machine.boots += 1
        var reads = 0
        while true {
            let failure = FailingSync()
            let next = try machine.store(failure)
            failure.failRead(after: reads)
            let found = Result { () throws(Failure) in try next.appendable(id: Self.id)?.kept.offset }
            next.unlock()
            if failure.isReadDue {
                #expect(try found.get() == UInt64(end))
                break
            }
            #expect(throws: Failure.self, "read \(reads)") { try found.get() }
            reads += 1
        }
        #expect(reads > 4)
    }

    /// Whichever byte of the newest slot is torn, the slot before it counts.
    @Test(arguments: DigestFunction.allCases) func aTornSlotIsNone(_ function: DigestFunction) throws {
        let machine = try Machine()
        let store = try machine.store()
        let file = try store.makeAppendable(id: Self.id, size: nil, function: function, declaration: [])
        try file.keep(try Self.write(file, to: 10))
        try file.keep(try Self.write(file, to: 20, from: 10))
        store.unlock()
        let sheet = try #require(Files.read(machine.sheet))
        for byte in 0..<AppendSlot.size(function) {
            var torn = sheet
            // The newer mark is in the second slot.
            torn[(32 << 10) + 512 + byte] ^= 0x55
            try Files.write(torn, to: machine.sheet)
            let store = try machine.store()
            #expect(try #require(try store.appendable(id: Self.id)).kept == Self.mark(10, function), "byte \(byte)")
            store.unlock()
        }
    }

    /// A sheet that was never complete does not count, and the next server removes the part beside it.
    @Test func aTornDeclarationIsNone() throws {
        let machine = try Machine()
        let store = try machine.store()
        _ = try store.makeAppendable(id: Self.id, size: nil, declaration: [1, 2, 3])
        store.unlock()
        let sheet = try #require(Files.read(machine.sheet))
        for count in 0..<sheet.count {
            if !Files.names(machine.incoming).contains("\(Self.id).part") { try Files.write([], to: machine.part) }
            try Files.write(Array(sheet[..<count]), to: machine.sheet)
            let store = try machine.store()
            #expect(try store.appendable(id: Self.id) == nil && Files.names(machine.incoming).isEmpty, "\(count) bytes")
            store.unlock()
        }
    }

    @Test func whatASyncHasLostIsGone() throws {
        let machine = try Machine()
        // The failing sync is that of the bytes, of the sheet, or of the folder.
        for count in 0..<3 {
            let failure = FailingSync()
            let store = try machine.store(failure)
            defer { store.unlock() }
            let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
            failure.arm(after: count)
            let mark = try Self.write(file, to: 100)
            #expect(throws: Failure.self) { try file.keep(mark) }
            #expect(file.isLost && file.kept == AppendMark())
            file.discard()
            #expect(Files.names(machine.incoming).isEmpty)
            #expect(try store.appendable(id: Self.id) == nil)
        }
    }

    /// If a part whose sync failed cannot be removed, its sheet stays. Without the sheet, the next server would resume
    /// the part with bytes that exist only in memory.
    @Test func whatASyncHasLostIsNoPart() throws {
        let machine = try Machine()
        let failure = FailingSync()
        let store = try machine.store(failure)
        let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        try file.keep(try Self.write(file, to: 100))
        failure.arm(after: 0)
        let lost = try Self.write(file, to: 300, from: 100)
        #expect(throws: Failure.self) { try file.keep(lost) }
        failure.refuse(.removing)
        file.discard()
        failure.refuse(.nothing)
        #expect(throws: Failure.taken) { try store.resume(id: Self.id, size: nil) }
        store.unlock()
        let next = try machine.store()
        #expect(throws: Failure.taken) { try next.resume(id: Self.id, size: nil) }
        // The part ends at the mark that was acknowledged before.
        #expect(try #require(try next.appendable(id: Self.id)).kept == Self.mark(100))
        #expect(Files.read(machine.part)?.count == 100)
    }

    /// A failed write or rename does not take back earlier marks, and the mark can be kept later. The same holds for a
    /// sync that could not begin because the mark of the sync could not be written.
    @Test(arguments: [FailingSync.Refused.writing, .renaming])
    private func aFullDiskTakesNothingBack(_ refused: FailingSync.Refused) throws {
        let machine = try Machine()
        let failure = FailingSync()
        let store = try machine.store(failure)
        let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        let first = try Self.write(file, to: 100)
        try file.keep(first)
        let second = try Self.write(file, to: Limits.blockSize + 5, from: 100)
        failure.refuse(refused)
        #expect(throws: Failure.self) { try file.keep(second) }
        #expect(!file.isLost && file.kept == first)
        failure.refuse(.nothing)
        store.unlock()
        let later = try machine.store()
        let found = try #require(try later.appendable(id: Self.id))
        #expect(found.kept == first)
        try found.keep(try Self.write(found, to: Limits.blockSize + 5, from: 100))
        later.unlock()
        #expect(try machine.store().appendable(id: Self.id)?.kept == second)
    }

    /// A server dies while it publishes a growing upload; the next server continues the upload.
    @Test func whatWasBeingPublishedCanBeGoneOnWith() throws {
        let machine = try Machine()
        let store = try machine.store()
        let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        try file.keep(try Self.write(file, to: 100))
        try #require(file.content as? StagedFile).withdraw(id: Self.id)
        #expect(!Files.names(machine.incoming).contains("\(Self.id).part"))
        store.unlock()
        let next = try machine.store()
        #expect(try #require(try next.appendable(id: Self.id)).kept == Self.mark(100))
        // The next server removes a sheet whose part is gone.
        next.unlock()
        unlink(machine.part)
        _ = try machine.store()
        #expect(Files.names(machine.incoming).isEmpty)
    }

    @Test func oneOfThemIsNoPart() throws {
        let machine = try Machine()
        let store = try machine.store()
        _ = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        #expect(throws: Failure.self) { try store.resume(id: Self.id, size: nil) }
        #expect(throws: Failure.self) { try store.makeAppendable(id: Self.id, size: nil, declaration: []) }
        let other = UploadID(high: 1, low: 1)
        _ = try store.resume(id: other, size: nil)
        #expect(throws: Failure.self) { try store.makeAppendable(id: other, size: nil, declaration: []) }
        #expect(throws: Failure.self) {
            let long = [UInt8](repeating: 0, count: AppendSheet.mostDeclared + 1)
            _ = try store.makeAppendable(id: UploadID(high: 2, low: 1), size: nil, declaration: long)
        }
        try store.removePart(Self.id)
        #expect(Files.names(machine.incoming) == ["\(other).part"])
    }

    /// A server without syncs promises nothing, but never resumes from wrong bytes.
    @Test func withoutSyncsAllIsCompared() throws {
        var machine = try Machine()
        machine.durability = .none
        let store = try machine.store()
        let file = try store.makeAppendable(id: Self.id, size: nil, declaration: [])
        try file.keep(try Self.write(file, to: 100))
        try file.keep(try Self.write(file, to: 200, from: 100))
        store.unlock()
        machine.boots += 1
        let whole = try machine.store()
        #expect(try #require(try whole.appendable(id: Self.id)).kept == Self.mark(200))
        whole.unlock()
        var part = try #require(Files.read(machine.part))
        part[150] ^= 1
        try Files.write(part, to: machine.part)
        machine.boots += 1
        let damaged = try machine.store()
        #expect(try #require(try damaged.appendable(id: Self.id)).kept == Self.mark(100))
        damaged.unlock()
    }
}

extension DiskCall {
    fileprivate var isSync: Bool {
        switch self {
        case .sync, .syncAll: true
        default: false
        }
    }
}
