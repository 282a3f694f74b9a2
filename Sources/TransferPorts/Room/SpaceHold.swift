package import TransferModel
import TransferSystem

/// The limited room of a store.
package protocol LimitedSpace: AnyObject, Sendable {
    /// The quota for everything that is stored; nil without a quota.
    var quota: Quota? { get }

    /// Checks that as much room is free as has to stay free.
    ///
    /// - Throws: `insufficientStorage`.
    func check() throws(Failure)
}

/// The room that one incoming file takes from the store and from its client's quota. It is given back when the hold is
/// released.
package final class SpaceHold: Sendable {
    private struct State {
        var bytes: UInt64 = 0
        var isOver = false
    }

    private let space: (any LimitedSpace)?
    private let client: Quota?
    /// The upload whose part this is. A part keeps its room when it is not open.
    private let part: UploadID?
    private let state = Locked(State())

    /// - Parameters:
    ///   - space: the room of the store, if it is limited.
    ///   - client: the quota of the client, if it has one.
    /// - Returns: nil if nothing is limited.
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
        /// Bytes that were requested from the quota.
        let bytes: UInt64
        let error: Failure
    }

    /// Reserves room for a file that ends at `end`. Files in the trash are removed if necessary.
    ///
    /// - Throws: `quotaExceeded`.
    package func grow(to end: UInt64) throws(Failure) {
        var tries = quotas.count
        while let refusal = take(upTo: end) {
            // Each quota may be full once. The handler is called without the lock, because making room takes long.
            guard tries > 0, refusal.error.code == .quotaExceeded, refusal.quota.makeRoom(for: refusal.bytes) else {
                throw refusal.error
            }
            tries -= 1
        }
    }

    /// - Returns: nil if the room is reserved; otherwise the quota that has refused it.
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
                // The last quota has reserved nothing.
                for (quota, before) in taken.dropLast() {
                    if let part { quota.release(part: part, but: before) } else { quota.release(end - state.bytes) }
                }
                return refused
            }
            state.bytes = end
            return nil
        }
    }

    /// Gives back room of a part that is neither used nor reserved any more. The part can count more than this hold has
    /// reserved, because a server counts the parts that it finds at its start.
    package func shrink(to bytes: UInt64) {
        guard let part else { return }
        state.withLock { state in
            if state.isOver { return }
            state.bytes = min(state.bytes, bytes)
            for quota in quotas { quota.release(part: part, but: bytes) }
        }
    }

    /// Gives the room back when the bytes are removed.
    package func giveBack() {
        guard let bytes = end() else { return }
        for quota in quotas {
            if let part { quota.release(part: part) } else { quota.release(bytes) }
        }
    }

    /// Counts the file as stored.
    ///
    /// - Parameter old: bytes of the file that it has replaced.
    package func publish(_ size: UInt64, replacing old: UInt64 = 0) {
        space?.quota?.stored(size, replacing: old)
        // The replaced file may have been another client's. If too much is counted, this is corrected by the next
        // count, which is made when there is no room.
        client?.stored(size, replacing: 0)
        giveBack()
    }

    /// Checks that as much room is free as has to stay free.
    package func checkRoom() throws(Failure) { try space?.check() }

    private func end() -> UInt64? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            return state.bytes
        }
    }
}
