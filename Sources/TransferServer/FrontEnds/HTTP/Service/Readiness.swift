import Synchronization
import TransferIntake
import TransferModel
import TransferStore

/// Why a server takes no uploads, as far as it knows.
enum Unreadiness: String, CaseIterable, Sendable {
    case stopping
    /// A sync has failed since the machine was started, and nothing that was there before is trusted.
    case inDoubt
    /// The file system is mounted so that nothing can be written.
    case readOnly
    /// The disk has no room, or less than is to be left free.
    case noRoom
    /// All that may be stored is.
    case quotaExceeded

    /// What uploads are refused with.
    var code: ResultCode {
        switch self {
        case .stopping: .shuttingDown
        case .inDoubt, .readOnly: .storageFailed
        case .noRoom: .insufficientStorage
        case .quotaExceeded: .quotaExceeded
        }
    }
}

extension ServerCore {
    /// Nothing where it takes uploads. Asks the file system, which can block.
    func unreadiness() -> [Unreadiness] {
        var reasons: [Unreadiness] = []
        if intake.isStopping.load(ordering: .relaxed) { reasons.append(.stopping) }
        if store.isInDoubt { reasons.append(.inDoubt) }
        if store.isReadOnly { reasons.append(.readOnly) }
        if let room = store.room, room.free <= transport.settings.space.minimumFree ?? 0 { reasons.append(.noRoom) }
        if let quota = store.quota, quota.used >= quota.limit { reasons.append(.quotaExceeded) }
        return reasons
    }
}
