import Glibc
import TransferPorts
package import TransferStore
import TransferSystem

/// A disk that records its calls, and lets one or more of them fail. It never syncs: a sync only reports success.
///
/// Calls of several threads are made one after the other, so the recording has the order in which they took place.
package final class ScriptedDisk: Sendable {
    /// A fault, and the call in which it occurs.
    package struct Fault: Sendable, CustomStringConvertible {
        package enum Kind: Sendable, Equatable {
            /// The call fails without being made.
            case error(Int32)
            /// The call and all later ones fail without being made, except those that only read. After ENOSPC, removals
            /// are made, too.
            case lastingError(Int32)
            /// A write writes only half of the bytes.
            case short
            /// The process dies in this call: the call and all later ones fail without being made.
            case death
        }

        /// The number of the call, counted from 0.
        package var call: Int
        package var kind: Kind

        package init(call: Int, kind: Kind) {
            (self.call, self.kind) = (call, kind)
        }

        package var description: String { "call \(call), \(kind)" }
    }

    private struct State {
        var isOn = false
        var recording: DiskRecording?
        var fault: Fault?
        /// The call that fails: the name of the calls in question, the number of them that are made before it, and the
        /// way in which it fails.
        var failingSync: (name: String, wait: Int, kind: Fault.Kind)?
        var count = 0
        /// The names of calls that were made to fail.
        var failed: [String] = []
        /// Copies of descriptors, which keep the inodes of removed files from being used again.
        var held: [Int32] = []

        /// Whether the process dies in the current call, or has died in an earlier one.
        var isDead: Bool { fault.map { $0.kind == .death && count >= $0.call } ?? false }
    }

    private let state = Locked(State())

    deinit {
        for number in state.withLock({ $0.held }) { close(number) }
    }

    package init() {}

    package var disk: Disk { Disk(interception: { [self] call, body in perform(call, body) }, dirtyBytes: { 0 }) }

    /// Begins to count calls, and to record what happens below `path`.
    package func start(_ path: String? = nil, fault: Fault? = nil) {
        state.withLock { state in
            state.recording = path.map { DiskRecording(of: $0) }
            state.isOn = true
            state.fault = fault
        }
    }

    /// Begins to count calls, and continues an earlier recording.
    package func start(_ recording: DiskRecording) {
        state.withLock { state in
            state.recording = recording
            state.isOn = true
        }
    }

    /// Lets no call fail from now on.
    package func mend() {
        state.withLock { state in
            state.fault = nil
            state.failingSync = nil
        }
    }

    /// Makes one sync fail, after `wait` others.
    package func fail(sync wait: Int, with code: Int32) {
        state.withLock { $0.failingSync = ("sync", wait, .error(code)) }
    }

    /// Makes the next call with this name fail (see `DiskCall.name`).
    package func fail(_ name: String, with code: Int32) {
        state.withLock { $0.failingSync = (name, 0, .error(code)) }
    }

    /// Makes one check for lost writes fail, after `wait` others.
    package func fail(check wait: Int, with code: Int32) {
        state.withLock { $0.failingSync = ("syncCheck", wait, .error(code)) }
    }

    /// Lets the process die in a sync, after `wait` others.
    package func die(inSync wait: Int) { state.withLock { $0.failingSync = ("sync", wait, .death) } }

    /// Moves an entry at the top to another directory as another program would, and records its removal as synced.
    package func move(_ name: String, from path: String, to newPath: String) throws {
        try system("rename") { rename(path + "/" + name, newPath) }
        state.withLock { state in
            guard let root = state.recording?.root else { return }
            let entry = DiskRecording.Entry(directory: root, name: name)
            state.recording?.effects += [.remove(entry), .sync(root)]
        }
    }

    package func acknowledge(_ path: String, _ content: [UInt8]) {
        state.withLock { $0.recording?.effects.append(.acknowledge(path: path, content: content)) }
    }

    /// Records that the store has acknowledged the removal of a path.
    package func acknowledgeRemoval(_ path: String) {
        state.withLock { $0.recording?.effects.append(.acknowledgeRemoval(path: path)) }
    }

    /// Records an event outside of the disk. The caller knows what the number means.
    package func note(_ number: Int) {
        state.withLock { $0.recording?.effects.append(.note(number)) }
    }

    package var count: Int { state.withLock { $0.count } }

    /// The number of descriptors that the script itself has open.
    package var heldCount: Int { state.withLock { $0.held.count } }

    package var failed: [String] { state.withLock { $0.failed } }

    package var recording: DiskRecording? { state.withLock { $0.recording } }

    private func perform(_ call: DiskCall, _ body: () -> Int) -> Int {
        state.withLock { state in
            guard state.isOn else { return body() }
            defer { state.count += 1 }
            let result = Self.result(of: call, &state, body)
            if result >= 0, state.recording != nil, case .open(_, _, let flags) = call, flags & O_RDWR != 0 {
                state.held.append(fcntl(Int32(result), F_DUPFD_CLOEXEC, 0))
            }
            if state.isDead { state.recording?.addDeath(in: call) } else { state.recording?.add(call, result) }
            return result
        }
    }

    private static func result(of call: DiskCall, _ state: inout State, _ body: () -> Int) -> Int {
        if let failing = state.failingSync, failing.name == call.name {
            state.failingSync?.wait -= 1
            if failing.wait == 0 {
                state.failingSync = nil
                state.fault = Fault(call: state.count, kind: failing.kind)
            }
        }
        guard let fault = state.fault, state.count >= fault.call else { return make(call, body) }
        switch (fault.kind, call) {
        case (.error(let code), _) where state.count == fault.call:
            state.failed.append(call.name)
            return -Int(code)
        case (.death, _):
            if state.count == fault.call { state.failed.append(call.name) }
            return -Int(EIO)
        case (.lastingError(let code), _) where call.changes(including: code != ENOSPC):
            state.failed.append(call.name)
            return -Int(code)
        case (.short, .write(let file, let bytes, let offset)) where state.count == fault.call && bytes.count > 1:
            return pwrite(file, bytes.baseAddress, bytes.count / 2, off_t(offset))
        default: return make(call, body)
        }
    }

    private static func make(_ call: DiskCall, _ body: () -> Int) -> Int {
        switch call {
        case .sync, .syncAll, .startWriting, .checkWritten: 0
        default: body()
        }
    }
}

extension DiskCall {
    /// The name of the call's case, except for `syncCheck` and for `syncMark`, a call that makes the mark of the syncs:
    /// without the mark there is no sync.
    package var name: String {
        switch self {
        case .rename(_, _, _, let new, _) where new.hasPrefix("sync-running-"): "syncMark"
        case .open(_, let name, let flags) where name.hasPrefix("sync-idle") && flags & O_CREAT != 0: "syncMark"
        case .checkWritten: "syncCheck"
        default: String("\(self)".prefix { $0 != "(" })
        }
    }

    package var isSync: Bool {
        switch self {
        case .sync, .syncAll: true
        default: false
        }
    }

    /// - Parameter removals: whether calls that free space count as changes, too.
    fileprivate func changes(including removals: Bool) -> Bool {
        switch self {
        case .status, .examine, .read, .seek, .checkWritten: false
        case .open(_, _, let flags): flags & O_RDWR != 0
        case .unlink, .removeDirectory: removals
        default: true
        }
    }
}
