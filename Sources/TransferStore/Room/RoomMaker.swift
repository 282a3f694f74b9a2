import TransferModel
import TransferPorts
import TransferSystem

/// Asks the trash to give room back, where there is a trash. All that need room share it.
final class RoomMaker: Sendable {
    private let body = Locked<(@Sendable (RoomNeed) -> Bool)?>(nil)

    func set(_ body: @escaping @Sendable (RoomNeed) -> Bool) { self.body.withLock { $0 = body } }

    /// To be called without a lock that others wait for: it may take long.
    ///
    /// - Returns: whether there is more room than before, so that another try may succeed.
    func makeRoom(_ need: RoomNeed) -> Bool {
        guard let body = body.withLock({ $0 }) else { return false }
        return body(need)
    }
}
