internal import CLinux
import Glibc
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

/// A disk that tracks, beside the content that every program sees of a directory in memory, what a power cut would
/// leave: all synced changes, and each other change by itself or not. The disk fails on request, and dies with its
/// process.
///
/// The calls take place for real, in a directory of a file system in memory. Only syncs are reported without being
/// made.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedDisk: SimulatedStorage, @unchecked Sendable {
    /// A fault in one of the next calls.
    struct Fault: Equatable {
        enum Kind: UInt32, CaseIterable {
            /// A sync fails, and the changes that it was to cover may be lost.
            case sync
            /// A call that changes something is not made.
            case refused
            /// Content gets no more space, until the fault is mended.
            case full
            /// A write stores half of the bytes.
            case short
            /// The process dies before the call.
            case death
            /// The process dies after the call.
            case deathBehind
            /// The process dies in a sync that fails, so that no caller receives the failure.
            case deathInSync
        }

        var kind: Kind
        /// Number of calls that pass before the fault, of those in which it can occur.
        var wait: UInt32
    }

    /// A name outside the server's own folder, or in the trash, that has changed its meaning.
    struct Naming {
        let path: String
        let object: Medium.Object?
        /// Object that had the name before, and its content if another object has the name now.
        let replacedObject: Medium.Object?
        let replaced: [UInt8]?
        /// Whether the object has another name now, which another naming reports.
        var isRenamed = false
        /// Files that have other paths now, outside the server's own folder or in the trash: the object itself, or the
        /// files in it.
        var moves: [Move] = []
    }

    struct Move {
        let object: Medium.Object
        let path: String
        let target: String
    }

    /// An action of other connections or programs in the middle of one of the next calls that can be interrupted.
    struct Interlude {
        /// Number of calls that pass before the action, of those that can be interrupted.
        var wait: UInt32
        /// Whether the action would wait for the caller of the interrupted call, on the only thread.
        let mustWait: () -> Bool
        let body: () -> Void
    }

    private(set) var medium: Medium
    private(set) var isDead = false
    /// Number of calls that have failed or were not made.
    private(set) var failures = 0
    /// Number of syncs among the failures.
    private(set) var failedSyncs = 0
    /// Number of all calls so far.
    private(set) var calls: UInt64 = 0
    private(set) var namings: [Naming] = []
    private var fault: Fault?
    private var interlude: Interlude?
    /// Whether a removal has failed, so that a file stays.
    private(set) var hasKeptSomething = false
    /// Whether the server has started. From then on a mark must stand while anything is synced.
    var isInUse = false
    /// Whether a sync took place without a mark.
    private(set) var hasSyncedUnmarked = false
    private(set) var hasUsedClosed = false
    /// Whether a call has failed otherwise than by the death of the process.
    private(set) var hasRefused = false
    private var random: SplitMix64
    /// A planted mistake: syncs of directories are reported without being made.
    private let forgetsDirectories: Bool
    /// Whether it can rename only by replacing, as NFS does.
    private let renamesByReplacing: Bool
    /// Whether every call is printed.
    private let tells: Bool

    private let trace: Trace

    /// Name of the machine's present boot, which a power cut ends.
    private let boot: String

    init(
        _ medium: Medium, boot: Int = 0, seed: UInt64, forgetsDirectories: Bool, renamesByReplacing: Bool = false,
        tells: Bool, trace: Trace
    ) {
        (self.medium, self.boot, self.trace) = (medium, "run \(boot)", trace)
        (self.forgetsDirectories, self.renamesByReplacing) = (forgetsDirectories, renamesByReplacing)
        self.tells = tells
        random = SplitMix64(seed: seed)
    }

    var disk: Disk {
        Disk(
            interception: { [self] call, body in
                let result = perform(call, body)
                trace.add(call, result)
                if tells { print("      \(call) = \(result)") }
                return result
            }, dirtyBytes: { 0 },
            amendment: { [self] in medium.amend(&$0) },
            boot: boot, isSerial: true)
    }

    func open(at path: String, _ limits: SpaceLimits, syncsAsAWhole: Bool) throws -> any ServerStore {
        let store = try FileStore(
            path: path, durability: .commit, limits: limits,
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: syncsAsAWhole), disk: disk,
            // This clock decides when a server may count its bytes again. It stands still, so that each server counts
            // once and a slow machine plays the same run.
            clock: { 0 })
        isInUse = true
        return store
    }

    func cut(to path: String, isCopied: Bool, _ random: inout SplitMix64) -> Medium {
        medium.cut(to: path, isCopied: isCopied, &random)
    }

    func renewed(_ medium: Medium, boot: Int, seed: UInt64) -> any SimulatedStorage {
        var medium = medium
        medium.made = []
        return SimulatedDisk(
            medium, boot: boot, seed: seed, forgetsDirectories: forgetsDirectories,
            renamesByReplacing: renamesByReplacing, tells: tells, trace: trace)
    }

    func arm(_ fault: Fault?) { self.fault = fault }

    func arm(_ interlude: Interlude?) { self.interlude = interlude }

    /// Ends the process: its later calls have no effect.
    func die() {
        if !isDead { medium.stopAtFailure() }
        isDead = true
    }

    func takeNamings() -> [Naming] {
        defer { namings = [] }
        return namings
    }

    /// Applies changes of other programs, which have synced them.
    func change(_ body: (inout Medium) -> Void) { body(&medium) }

    private func perform(_ call: DiskCall, _ body: () -> Int) -> Int {
        calls += 1
        // The interlude comes before the sync has any effect: callers that wait for the sync receive no result before
        // it ends.
        if call.isSyncOfOne { play() }
        defer { if case .read = call { play() } }
        guard !isDead else { return -Int(EIO) }
        if renamesByReplacing, case .rename(_, _, _, _, replaces: false) = call { return -Int(EINVAL) }
        if call.isSync, isInUse, !medium.isMarked { hasSyncedUnmarked = true }
        switch due(call) {
        case .sync, .refused:
            if call.isSync { fail(call, names: true) }
            if call.removes { hasKeptSomething = true }
            return -Int(EIO)
        case .full: return -Int(ENOSPC)
        case .short:
            guard case .write(let file, let bytes, let offset) = call else { break }
            let half = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
            let written = pwrite(file, half.baseAddress, half.count, off_t(offset))
            medium.write(file, half, offset)
            return written
        case .death:
            die()
            return -Int(EIO)
        case .deathBehind:
            let result = make(call, body)
            // No caller receives the descriptor.
            if case .open = call, result >= 0 { close(Int32(result)) }
            die()
            return -Int(EIO)
        case .deathInSync:
            // A journal that could not be written stays unwritten, and the next sync fails, too.
            fail(call, names: false)
            die()
            return -Int(EIO)
        case nil: break
        }
        return make(call, body)
    }

    private func play() {
        guard !isDead, let interlude, !interlude.mustWait() else { return }
        guard interlude.wait == 0 else {
            self.interlude?.wait -= 1
            return
        }
        self.interlude = nil
        interlude.body()
    }

    /// The armed fault, if it applies to this call; nil if the call passes.
    private func due(_ call: DiskCall) -> Fault.Kind? {
        guard let fault, call.meets(fault.kind) else { return nil }
        guard fault.wait == 0 else {
            self.fault?.wait -= 1
            return nil
        }
        if fault.kind != .full { self.fault = nil }
        failures += 1
        if ![.death, .deathBehind, .deathInSync].contains(fault.kind) { hasRefused = true }
        return fault.kind
    }

    /// - Parameter names: whether names can be lost as well as bytes. A process that ends because of the failure, as a
    ///   starting server does, loses no names: file systems stop writing when they cannot write names, so any later
    ///   success proves that the names are there.
    private func fail(_ call: DiskCall, names: Bool) {
        failedSyncs += 1
        let names = names && isInUse
        if isInUse { medium.hasFailedSync = true }
        if case .sync(let number) = call {
            medium.loseUnsynced(of: number, names: names, &random)
        } else {
            medium.loseUnsynced(onDiskOf: call.descriptor ?? -1, names: names, &random)
        }
    }

    private func make(_ call: DiskCall, _ body: () -> Int) -> Int {
        if let number = call.descriptor, fcntl(number, F_GETFD) < 0 { hasUsedClosed = true }
        switch call {
        case .sync(let number), .checkWritten(let number):
            if medium.takeLoss(of: number) {
                failures += 1
                hasRefused = true
                fail(.sync(number), names: true)
                return -Int(EIO)
            }
            guard call.isSync else { return 0 }
            if !(forgetsDirectories && medium.isDirectory(number)) { medium.sync(number) }
            return 0
        case .syncAll(let number):
            medium.syncAll(number)
            return 0
        case .startWriting: return 0
        default:
            if let refusal = namingCall(call).flatMap(medium.refusal) { return -Int(refusal) }
            let result = body()
            if result >= 0 { note(call, result) }
            if result == -Int(EBADF) { hasUsedClosed = true }
            return result
        }
    }

    private func namingCall(_ call: DiskCall) -> NamingCall? {
        switch call {
        case .link(let file, let directory, _):
            guard let file = medium.object(of: file), let directory = medium.object(of: directory) else { return nil }
            return .link(file, in: directory)
        case .linkName(let from, let name, let directory, _):
            guard let from = medium.object(of: from), let file = medium.object(at: name, from: from),
                let directory = medium.object(of: directory)
            else { return nil }
            return .link(file, in: directory)
        case .rename(let from, let name, let directory, let newName, _):
            guard let from = medium.object(of: from), let to = medium.object(of: directory) else { return nil }
            return .rename(from: from, name, to: to, newName)
        case .exchange(let directory, let name, let other, let otherName):
            guard let from = medium.object(of: directory), let to = medium.object(of: other) else { return nil }
            return .rename(from: from, name, to: to, otherName)
        case .unlink(let directory, let name), .removeDirectory(let directory, let name):
            return medium.object(of: directory).map { .removal(from: $0, name) }
        default: return nil
        }
    }

    private func note(_ call: DiskCall, _ result: Int) {
        switch call {
        case .open(let directory, let name, let flags):
            note(naming: medium.open(Int32(result), directory, name, flags: flags))
        case .makeDirectory(let directory, let name): note(naming: medium.makeDirectory(directory, name))
        case .makeLink(let directory, let name): note(naming: medium.makeLink(directory, name))
        // The simulation does not look at anything that these calls change.
        case .setLink, .readLink, .setOwner, .setExtended, .clone: break
        case .write(let file, let bytes, let offset), .copy(let file, let bytes, let offset):
            medium.write(file, UnsafeRawBufferPointer(rebasing: bytes[..<result]), offset)
        case .clear(let file, let range): medium.clear(file, range)
        case .truncate(let file, let size): medium.truncate(file, size)
        case .setTimes(let file): medium.setAttributes(file, times: true)
        case .setPermissions(let file): medium.setAttributes(file, times: false)
        case .link(let file, let directory, let name): note(naming: medium.link(file, directory, name))
        case .linkName(let from, let name, let directory, let newName):
            note(naming: medium.link(name, in: from, directory, newName))
        case .rename(let from, let name, let directory, let newName, _):
            for naming in medium.rename(from, name, directory, newName) { note(naming: naming) }
        case .exchange(let directory, let name, let other, let otherName):
            for naming in medium.exchange(directory, name, other, otherName) { note(naming: naming) }
        case .unlink(let directory, let name), .removeDirectory(let directory, let name):
            note(naming: medium.remove(directory, name))
        case .status, .examine, .read, .seek, .reserve, .release, .startWriting, .checkWritten, .sync, .syncAll: break
        }
    }

    private func note(naming: Naming?) {
        if let naming { namings.append(naming) }
    }
}

extension DiskCall {
    fileprivate var isSync: Bool {
        switch self {
        case .sync, .syncAll: true
        default: false
        }
    }

    /// Descriptor that a sync applies to; nil for other calls.
    fileprivate var descriptor: Int32? {
        switch self {
        case .sync(let number), .syncAll(let number): number
        default: nil
        }
    }

    fileprivate var isSyncOfOne: Bool { if case .sync = self { true } else { false } }

    fileprivate var removes: Bool {
        switch self {
        case .unlink, .removeDirectory, .truncate, .release: true
        default: false
        }
    }

    fileprivate func meets(_ fault: SimulatedDisk.Fault.Kind) -> Bool {
        switch (fault, self) {
        case (.sync, .sync), (.sync, .syncAll), (.deathInSync, .sync), (.deathInSync, .syncAll), (.full, .write),
            (.full, .reserve), (.full, .copy), (.short, .write):
            true
        case (.full, .open(_, _, let flags)): flags & O_CREAT != 0
        case (.sync, _), (.deathInSync, _), (.full, _), (.short, _): false
        case (.refused, .status), (.refused, .examine), (.refused, .seek), (.refused, .startWriting): false
        case (.refused, .open(_, _, let flags)): flags & (O_CREAT | O_RDWR) != 0
        case (.refused, _), (.death, _), (.deathBehind, _): true
        }
    }
}
