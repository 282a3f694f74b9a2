package import TransferModel
import TransferSystem

/// Counts what is stored and what is being uploaded against a limit, and refuses what would exceed it.
///
/// A file counts with its size, as `ls` and `du --apparent-size` show it. An upload of known size counts with that size
/// from the beginning, so that simultaneous uploads cannot exceed the limit together.
package final class Quota: Sendable {
    /// What counts against a limit at one moment.
    package struct Count: Sendable {
        /// Bytes that stored files have.
        package var stored: UInt64

        /// Bytes of unfinished uploads, by id; nil to keep the sizes that are known.
        package var parts: [UploadID: UInt64]?

        package init(stored: UInt64, parts: [UploadID: UInt64]? = nil) {
            self.stored = stored
            self.parts = parts
        }
    }

    fileprivate struct State {
        var limit: UInt64
        /// Bytes that stored files have.
        var stored: UInt64 = 0
        /// Bytes of uploads that are discarded with their connection.
        var held: UInt64 = 0
        /// Bytes of uploads whose parts stay.
        var parts: [UploadID: UInt64] = [:]
        var inParts: UInt64 = 0
        /// What was added to and removed from `stored` during a new count; nil outside a count.
        var change: (added: UInt64, removed: UInt64)?
        /// When a new count may be made, in nanoseconds of the monotonic clock; nil before the first one.
        var nextCount: Int64?
        /// When a new count is due because other servers store as well, in nanoseconds of the monotonic clock.
        var due = Int64.max

        var used: UInt64 { stored.addingClamped(held).addingClamped(inParts) }
    }

    /// Nanoseconds between two counts; each looks at every file.
    private static let countInterval: Int64 = 10_000_000_000

    /// Counts for other servers take at most a hundredth of the time.
    private static let share: Int64 = 100

    private let clock: @Sendable () -> Int64
    private let isShared: Bool
    private let count: @Sendable (_ parts: [UploadID]) -> Count?
    private let sentence: @Sendable (_ limit: UInt64, _ room: UInt64) -> String
    private let state: Locked<State>
    private let giving = Locked<(@Sendable (_ lacking: UInt64) -> Bool)?>(nil)
    /// Held while a count is made.
    private let counting = Locked(())

    /// - Parameters:
    ///   - limit: bytes.
    ///   - clock: nanoseconds of a clock that is never set.
    ///   - isShared: whether other servers store under the same limit. Then everything is counted again every 10 s while
    ///     something is taken, or after a hundred times as long as a count takes; what they store meanwhile can exceed the limit.
    ///   - sentence: says that the limit is reached and what to do.
    ///   - count: counts what is stored, and unfinished uploads including these parts. It is called when the first
    ///     bytes are taken, and again when there is no room. If it returns nil because it cannot count, the last count
    ///     stays valid; without an earlier count, all uploads are refused.
    package init(
        limit: UInt64, clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds, isShared: Bool = false,
        sentence: @escaping @Sendable (_ limit: UInt64, _ room: UInt64) -> String,
        count: @escaping @Sendable (_ parts: [UploadID]) -> Count?
    ) {
        (self.clock, self.isShared, self.count, self.sentence) = (clock, isShared, count, sentence)
        state = Locked(State(limit: limit))
    }

    /// The quota of everything that a server stores.
    package convenience init(
        ofStore limit: UInt64, clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds, isShared: Bool = false,
        count: @escaping @Sendable (_ parts: [UploadID]) -> Count?
    ) {
        let sentence: @Sendable (UInt64, UInt64) -> String = { limit, room in
            "The server's quota of \(limit) bytes has \(room) bytes left: remove files there, or raise --quota."
        }
        self.init(limit: limit, clock: clock, isShared: isShared, sentence: sentence, count: count)
    }

    /// Bytes that count against the limit.
    package var used: UInt64 {
        countOnce()
        return state.withLock { $0.used }
    }

    /// The most bytes that may count.
    package var currentLimit: UInt64 { state.withLock { $0.limit } }

    /// Sets another limit from now on.
    package func change(limit: UInt64) {
        state.withLock { $0.limit = limit }
    }

    /// Sets the handler that makes room when the quota is full.
    ///
    /// - Parameter body: called on any thread with the missing amount; returns whether it has made any room.
    package func givesWay(_ body: @escaping @Sendable (_ lacking: UInt64) -> Bool) {
        giving.withLock { $0 = body }
    }

    /// How much room has to be made so that `count` fits.
    package func lacking(_ count: UInt64) -> UInt64 {
        state.withLock { state in
            let wanted = state.used.addingClamped(count)
            return wanted - min(wanted, state.limit)
        }
    }

    /// Asks the handler to make room. Do not call this with a lock that other threads wait for, because it may take
    /// long.
    ///
    /// - Returns: whether another attempt may succeed.
    package func makeRoom(for count: UInt64) -> Bool {
        let missing = lacking(count)
        guard missing > 0 else { return true }
        guard let body = giving.withLock({ $0 }), body(missing) else { return false }
        return lacking(count) < missing
    }

    /// - Throws: `quotaExceeded`; then nothing is reserved.
    package func hold(_ count: UInt64) throws(Failure) {
        try add(count) { $0.held += count }
    }

    package func release(_ count: UInt64) {
        state.withLock { $0.held -= min($0.held, count) }
    }

    /// Reserves a total size for the part of an upload.
    ///
    /// - Throws: `quotaExceeded`; then the part keeps its earlier size.
    package func hold(part id: UploadID, upTo size: UInt64) throws(Failure) {
        let present = state.withLock { $0.parts[id] ?? 0 }
        guard size > present else { return }
        try add(size - present) { state in
            // Another thread can have reserved more for the part meanwhile, but not less; only the rest is taken.
            let old = state.parts[id] ?? 0
            guard size > old else { return }
            state.parts[id] = size
            state.inParts = state.inParts.addingClamped(size - old)
        }
    }

    /// Bytes that are reserved for the part of an upload.
    package func size(ofPart id: UploadID) -> UInt64 { state.withLock { $0.parts[id] ?? 0 } }

    /// - Parameter left: bytes that stay reserved.
    package func release(part id: UploadID, but left: UInt64 = 0) {
        state.withLock { state in
            guard let size = state.parts.removeValue(forKey: id) else { return }
            state.inParts = state.inParts - min(state.inParts, size) + min(left, size)
            if left > 0 { state.parts[id] = min(left, size) }
        }
    }

    /// Counts a file that is stored now, in place of another one.
    package func stored(_ size: UInt64, replacing old: UInt64) {
        state.withLock { state in
            state.stored = state.stored.addingClamped(size)
            state.stored -= min(state.stored, old)
            guard let change = state.change else { return }
            state.change = (change.added.addingClamped(size), change.removed.addingClamped(old))
        }
    }

    /// Counts a file as removed.
    package func removed(_ size: UInt64) { stored(0, replacing: size) }

    /// Counts a stored file as the part of an upload again. For a moment it counts twice.
    package func unpublished(_ size: UInt64, part id: UploadID) {
        defer { removed(size) }
        state.withLock { state in
            let old = state.parts.updateValue(size, forKey: id) ?? 0
            state.inParts = (state.inParts - min(state.inParts, old)).addingClamped(size)
        }
    }

    private func add(_ count: UInt64, _ take: (inout State) -> Void) throws(Failure) {
        countOnce()
        countIfDue()
        guard state.withLock({ $0.nextCount != nil }) else {
            throw Failure(
                .busy, "The server cannot determine how much of its quota is used: send the upload again later.")
        }
        for isLast in [false, true] {
            let room = state.withLock { state -> (limit: UInt64, left: UInt64)? in
                let room = state.limit - min(state.limit, state.used)
                guard count > room else {
                    take(&state)
                    return nil
                }
                return (state.limit, room)
            }
            guard let room else { return }
            // Files may have been removed.
            guard !isLast, countAgain() else {
                throw Failure(.quotaExceeded, sentence(room.limit, room.left))
            }
        }
    }

    /// Counts before anything is decided. Blocks during the first count.
    package func countOnce() {
        guard state.withLock({ $0.nextCount == nil }) else { return }
        counting.withLock { _ in
            if state.withLock({ $0.nextCount == nil }) { recount() }
        }
    }

    /// Counts what other servers have stored. Other threads go on with the last count meanwhile.
    private func countIfDue() {
        guard isShared else { return }
        let isClaimed = state.withLock { state in
            guard clock() >= state.due else { return false }
            state.due = .max
            return true
        }
        if isClaimed { counting.withLock { _ in recount() } }
    }

    /// - Returns: false if a count was made just now.
    private func countAgain() -> Bool {
        counting.withLock { _ in
            let isDue = state.withLock { state in state.nextCount.map { clock() >= $0 } ?? true }
            if isDue { recount() }
            return isDue
        }
    }

    /// - Parameter begun: when the last count began.
    private func schedule(_ state: inout State, begun: Int64) {
        let now = clock()
        func after(_ pause: Int64) -> Int64 {
            let (moment, overflow) = now.addingReportingOverflow(pause)
            return overflow ? .max : moment
        }
        let (pause, overflow) = (now - min(now, begun)).multipliedReportingOverflow(by: Self.share)
        state.nextCount = after(Self.countInterval)
        state.due = after(overflow ? .max : max(Self.countInterval, pause))
    }

    private func recount() {
        let begun = clock()
        let before = state.withLock { state in
            state.change = (0, 0)
            return state.parts
        }
        let count = count(Array(before.keys))
        state.withLock { state in
            guard let count else {
                state.change = nil
                if state.nextCount != nil { schedule(&state, begun: begun) }
                return
            }
            let change = state.change ?? (0, 0)
            // What was added meanwhile may count twice until the next count. Counting too much is safe.
            state.stored = count.stored.addingClamped(change.added)
            state.change = nil
            schedule(&state, begun: begun)
            if let parts = count.parts { state.replace(before, by: parts) }
        }
    }
}

extension Quota.State {
    /// - Parameters:
    ///   - before: the parts that were known when the count began; newer ones stay.
    ///   - found: the parts that were found, with their current sizes. Unfinished ones keep what is reserved for them.
    fileprivate mutating func replace(_ before: [UploadID: UInt64], by found: [UploadID: UInt64]) {
        for id in before.keys where found[id] == nil { parts[id] = nil }
        parts.merge(found) { max($0, $1) }
        inParts = parts.values.reduce(0) { $0.addingClamped($1) }
    }
}

/// How much room is missing, and where.
package enum RoomNeed: Equatable, Sendable {
    /// Bytes of the store's quota.
    case stored(UInt64)
    /// Bytes of room on the disk.
    case disk(UInt64)
}
