package import TransferModel
import TransferSystem

/// The room that a store has, where that is limited.
package protocol LimitedSpace: AnyObject, Sendable {
    /// Counts all that is stored; nil without a quota.
    var quota: Quota? { get }

    /// Looks whether as much is free as has to stay free.
    ///
    /// - Throws: `insufficientStorage`.
    func check() throws(Failure)
}

/// What one incoming file takes of the space that there is for everybody and for its client, given back when it goes.
package final class SpaceHold: Sendable {
    private struct State {
        var bytes: UInt64 = 0
        var isOver = false
    }

    private let space: (any LimitedSpace)?
    private let client: Quota?
    /// Whose part it is; a part stays, and its share with it, when nobody has it open.
    private let part: UploadID?
    private let state = Locked(State())

    /// - Parameters:
    ///   - space: of the store, where it is limited.
    ///   - client: of the client, where it has one.
    /// - Returns: nil where nothing is limited.
    package init?(_ space: (any LimitedSpace)?, client: Quota?, part: UploadID? = nil) {
        guard space != nil || client != nil else { return nil }
        (self.space, self.client, self.part) = (space, client, part)
    }

    deinit {
        if part == nil { giveBack() }
    }

    private var quotas: [Quota] { [space?.quota, client].compactMap(\.self) }

    /// A quota that has no room.
    private struct Refusal {
        let quota: Quota
        /// Bytes that were wanted of it.
        let bytes: UInt64
        let error: Failure
    }

    /// Has room for a file that ends there. What is in the trash gives way to it.
    ///
    /// - Throws: `quotaExceeded`.
    package func grow(to end: UInt64) throws(Failure) {
        var tries = quotas.count
        while let refusal = take(upTo: end) {
            // Each quota may have none once. Not with the lock: to make room takes long.
            guard tries > 0, refusal.error.code == .quotaExceeded, refusal.quota.makeRoom(for: refusal.bytes) else {
                throw refusal.error
            }
            tries -= 1
        }
    }

    /// - Returns: nil where there is room for it.
    private func take(upTo end: UInt64) -> Refusal? {
        state.withLock { state in
            guard end > state.bytes else { return nil }
            var taken: [(quota: Quota, before: UInt64)] = []
            do throws(Failure) {
                for quota in quotas {
                    taken.append((quota, part.map(quota.size(ofPart:)) ?? 0))
                    if let part { try quota.hold(part: part, upTo: end) } else { try quota.hold(end - state.bytes) }
                }
            } catch {
                let refused = taken.last.map { last in
                    Refusal(
                        quota: last.quota, bytes: end - (part == nil ? state.bytes : min(end, last.before)),
                        error: error)
                }
                // The last one has taken nothing.
                for (quota, before) in taken.dropLast() {
                    if let part { quota.release(part: part, but: before) } else { quota.release(end - state.bytes) }
                }
                return refused
            }
            state.bytes = end
            return nil
        }
    }

    /// Of a part, no more than this is there or reserved any more. More may count than was asked for here: what a server finds at
    /// its start.
    package func shrink(to bytes: UInt64) {
        guard let part else { return }
        state.withLock { state in
            if state.isOver { return }
            state.bytes = min(state.bytes, bytes)
            for quota in quotas { quota.release(part: part, but: bytes) }
        }
    }

    /// The bytes are no longer there.
    package func giveBack() {
        guard let bytes = end() else { return }
        for quota in quotas {
            if let part { quota.release(part: part) } else { quota.release(bytes) }
        }
    }

    /// The file has its name.
    ///
    /// - Parameter old: bytes of the one that had it before.
    package func publish(_ size: UInt64, replacing old: UInt64 = 0) {
        space?.quota?.stored(size, replacing: old)
        // The old one may have been another client's; what is counted too much is found when there is no more room.
        client?.stored(size, replacing: 0)
        giveBack()
    }

    /// Looks whether as much room is free as has to stay free.
    package func checkRoom() throws(Failure) { try space?.check() }

    private func end() -> UInt64? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            return state.bytes
        }
    }
}
