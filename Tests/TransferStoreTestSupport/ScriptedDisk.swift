import Glibc
import TransferPorts
package import TransferStore
import TransferSystem

/// Calls that are written down, and of which one or more fail. Nothing is synced: it is only said to be.
///
/// Calls of several threads are made one after the other, so the recording has the order in which they took place.
package final class ScriptedDisk: Sendable {
    /// What goes wrong.
    package struct Fault: Sendable, CustomStringConvertible {
        package enum Kind: Sendable, Equatable {
            /// The call is not made.
            case error(Int32)
            /// The call and all that follow are not made, but for those that only look.
            case lastingError(Int32)
            /// A write takes half of the bytes.
            case short
            /// The process dies in this call, which fails in its end, and makes no other.
            case death
        }

        /// Which call, from 0.
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
        /// Calls of a kind until one fails, and how.
        var failingSync: (name: String, wait: Int, kind: Fault.Kind)?
        var count = 0
        /// Calls that were made to fail.
        var failed: [String] = []
        /// Keeps inodes of files that are gone from being used again.
        var held: [Int32] = []

        /// Whether no more calls are made, or this is the last.
        var isDead: Bool { fault.map { $0.kind == .death && count >= $0.call } ?? false }
    }

    private let state = Locked(State())

    deinit {
        for number in state.withLock({ $0.held }) { close(number) }
    }

    package init() {}

    package var disk: Disk { Disk(interception: { [self] call, body in perform(call, body) }, dirtyBytes: { 0 }) }

    /// Begins to count, and to write down what happens below `path`.
    package func start(_ path: String? = nil, fault: Fault? = nil) {
        state.withLock { state in
            state.recording = path.map { DiskRecording(of: $0) }
            state.isOn = true
            state.fault = fault
        }
    }

    /// Begins to count, and goes on with what was written down before.
    package func start(_ recording: DiskRecording) {
        state.withLock { state in
            state.recording = recording
            state.isOn = true
        }
    }

    /// From now on nothing fails.
    package func mend() {
        state.withLock { state in
            state.fault = nil
            state.failingSync = nil
        }
    }

    /// Makes a sync fail, the first that comes or one after it.
    package func fail(sync wait: Int, with code: Int32) {
        state.withLock { $0.failingSync = ("sync", wait, .error(code)) }
    }

    /// Makes the next call of that name fail, as its case is called.
    package func fail(_ name: String, with code: Int32) {
        state.withLock { $0.failingSync = (name, 0, .error(code)) }
    }

    /// As above, for the question what was lost of a file.
    package func fail(check wait: Int, with code: Int32) {
        state.withLock { $0.failingSync = ("syncCheck", wait, .error(code)) }
    }

    /// The process dies in a sync.
    package func die(inSync wait: Int) { state.withLock { $0.failingSync = ("sync", wait, .death) } }

    /// Somebody else moves what has a name at the top to another directory, and syncs that.
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

    /// Somebody was told that nothing has the path any more.
    package func acknowledgeRemoval(_ path: String) {
        state.withLock { $0.recording?.effects.append(.acknowledgeRemoval(path: path)) }
    }

    /// Something has happened that is not of the disk; what that is, the caller knows by its number.
    package func note(_ number: Int) {
        state.withLock { $0.recording?.effects.append(.note(number)) }
    }

    package var count: Int { state.withLock { $0.count } }

    /// Descriptors of the script itself.
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
    /// As its case is called; without the mark there is no sync.
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

    /// - Parameter removals: whether what makes room counts, too.
    fileprivate func changes(including removals: Bool) -> Bool {
        switch self {
        case .status, .examine, .read, .seek, .checkWritten: false
        case .open(_, _, let flags): flags & O_RDWR != 0
        case .unlink, .removeDirectory: removals
        default: true
        }
    }
}
