import Synchronization
import TransferDatabase
import TransferPorts
import TransferStore

/// Simulates the end of the process at a chosen call to the disk or the database: that call and all later ones fail.
final class Kill: Sendable {
    private let left: Atomic<Int>
    private let armed = Atomic(false)
    private let killed = Atomic(false)

    init(after calls: Int) { left = Atomic(calls) }

    var isArmed: Bool {
        get { armed.load(ordering: .relaxed) }
        set { armed.store(newValue, ordering: .relaxed) }
    }

    var hasKilled: Bool { killed.load(ordering: .relaxed) }

    private var isOver: Bool {
        guard !hasKilled else { return true }
        guard isArmed else { return false }
        if left.wrappingSubtract(1, ordering: .relaxed).oldValue <= 0 { killed.store(true, ordering: .relaxed) }
        return hasKilled
    }

    var disk: Disk {
        Disk(interception: { [self] _, body in isOver ? -5 : body() })
    }

    // SQLITE_IOERR (sqlite.org/rescode.html#ioerr).
    var calls: DatabaseCalls { DatabaseCalls(failure: { [self] _ in isOver ? 10 : 0 }) }
}
