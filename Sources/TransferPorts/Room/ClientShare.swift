package import TransferModel
import TransferSystem

/// The quotas of one client; a nil quota sets no limit.
package struct ClientLimits: Sendable {
    package let bytes: Quota?

    /// Quota of files, folders and links, each of which counts 1.
    package let names: Quota?

    package init(bytes: Quota?, names: Quota?) { (self.bytes, self.names) = (bytes, names) }
}

/// A share of a client's quotas, reserved before something is made for the client. Room that is not charged is given
/// back when the share is released.
package final class ClientShare: Sendable {
    private let limits: ClientLimits
    private let taken: Locked<(names: UInt64, bytes: UInt64)>

    /// - Throws: `quotaExceeded`, or `busy` if it is unknown how much the client uses.
    package init(of limits: ClientLimits, names: UInt64, bytes: UInt64) throws(Failure) {
        try Self.hold(names, of: limits.names)
        do throws(Failure) {
            try Self.hold(bytes, of: limits.bytes)
        } catch {
            limits.names?.release(names)
            throw error
        }
        self.limits = limits
        taken = Locked((names, bytes))
    }

    deinit { giveBack() }

    /// If there is no room, files in the trash are removed to make some.
    private static func hold(_ count: UInt64, of quota: Quota?) throws(Failure) {
        guard let quota else { return }
        do throws(Failure) {
            try quota.hold(count)
        } catch {
            guard error.code == .quotaExceeded, quota.makeRoom(for: count) else { throw error }
            try quota.hold(count)
        }
    }

    /// Charges some of the share to the client, for what was made, and gives the rest back.
    package func keep(names: UInt64, bytes: UInt64) {
        let kept = taken.withLock { taken in (names: min(names, taken.names), bytes: min(bytes, taken.bytes)) }
        limits.names?.stored(kept.names, replacing: 0)
        limits.bytes?.stored(kept.bytes, replacing: 0)
        giveBack()
    }

    /// Charges all of the share to the client.
    package func keepAll() { keep(names: .max, bytes: .max) }

    private func giveBack() {
        let taken = taken.withLock { taken in
            defer { taken = (0, 0) }
            return taken
        }
        limits.names?.release(taken.names)
        limits.bytes?.release(taken.bytes)
    }
}
