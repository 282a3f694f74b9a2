import Glibc
import TransferPorts
import TransferSystem

@testable import TransferStore

/// Syncs that are recorded instead of made, and that fail on request.
final class RecordedSyncs: Sendable {
    enum Call: Hashable {
        case start(Int32)
        case file(Int32)
        case fileSystem(Int32)
    }

    private struct State {
        var calls: [Call] = []
        var dirtyBytes: UInt64? = 0
        var observe: @Sendable (Call) throws(SystemError) -> Void = { _ throws(SystemError) in }
    }

    static let failure = SystemError(errno: EIO, call: "sync")

    private let state = Locked(State())

    var all: [Call] { state.withLock { $0.calls } }

    /// All calls except those that only start to write.
    var syncs: [Call] { all.filter { if case .start = $0 { false } else { true } } }

    /// Sets how many bytes the machine still has to write.
    func setDirty(_ bytes: UInt64?) { state.withLock { $0.dirtyBytes = bytes } }

    /// `body` runs before each call and can make the call fail.
    func observe(_ body: @escaping @Sendable (Call) throws(SystemError) -> Void) {
        state.withLock { $0.observe = body }
    }

    /// Call this at the end of a test whose observer holds the fixture: the fixture's store holds this object, so
    /// neither would be released.
    func stopObserving() { observe { _ throws(SystemError) in } }

    func reset() { state.withLock { $0.calls = [] } }

    /// All calls that are not syncs are made.
    var disk: Disk {
        Disk(
            interception: { [self] call, body in
                switch call {
                case .startWriting(let number): add(.start(number))
                case .sync(let number): add(.file(number))
                case .syncAll(let number): add(.fileSystem(number))
                case .checkWritten: 0
                default: body()
                }
            }, dirtyBytes: { [self] in state.withLock { $0.dirtyBytes } })
    }

    private func add(_ call: Call) -> Int {
        let observe = state.withLock { state in
            state.calls.append(call)
            return state.observe
        }
        do throws(SystemError) {
            try observe(call)
            return 0
        } catch {
            return -Int(error.errno)
        }
    }
}
