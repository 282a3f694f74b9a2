import TransferModel
import TransferPorts
import TransferSystem

/// Asks the trash to free room. All users of one directory share it.
final class RoomMaker: Sendable {
    private let body = Locked<(@Sendable (RoomNeed) -> Bool)?>(nil)

    func set(_ body: @escaping @Sendable (RoomNeed) -> Bool) { self.body.withLock { $0 = body } }

    /// Call it without locks, because it may take long.
    ///
    /// - Returns: whether room was freed, so that another attempt may succeed.
    func makeRoom(_ need: RoomNeed) -> Bool {
        guard let body = body.withLock({ $0 }) else { return false }
        return body(need)
    }
}
