package import TransferModel
import TransferSystem

/// Counts what is stored and what is on its way against a limit, and refuses what would be too much.
///
/// A file counts with its size, as `ls` and `du --apparent-size` show it, and an upload of known size with that from its
/// beginning on, so that uploads that come at the same time can't pass the limit together.
package final class Quota: Sendable {
    /// What counts against a limit now.
    package struct Count: Sendable {
        /// Bytes of files under their names.
        package var stored: UInt64

        /// Bytes of unfinished uploads, by id; nothing leaves them as they are known.
        package var parts: [UploadID: UInt64]?

        package init(stored: UInt64, parts: [UploadID: UInt64]? = nil) {
            self.stored = stored
            self.parts = parts
        }
    }

    fileprivate struct State {
        var limit: UInt64
        /// Of files under their names.
        var stored: UInt64 = 0
        /// Of uploads that go with their connection.
        var held: UInt64 = 0
        /// Of uploads whose parts stay.
        var parts: [UploadID: UInt64] = [:]
        var inParts: UInt64 = 0
        /// What was added to and taken from `stored` while it was being counted anew.
        var change: (added: UInt64, removed: UInt64)?
        /// When it may be counted anew, in nanoseconds of the monotonic clock; nothing before it was counted once.
        var nextCount: Int64?

        var used: UInt64 { stored.addingClamped(held).addingClamped(inParts) }
    }

    /// Nanoseconds between two countings: each looks at every file.
    private static let countInterval: Int64 = 10_000_000_000

    private let clock: @Sendable () -> Int64
    private let count: @Sendable (_ parts: [UploadID]) -> Count?
    private let sentence: @Sendable (_ limit: UInt64, _ room: UInt64) -> String
    private let state: Locked<State>
    private let giving = Locked<(@Sendable (_ lacking: UInt64) -> Bool)?>(nil)
    /// Held while it is counted.
    private let counting = Locked(())

    /// - Parameters:
    ///   - limit: bytes.
    ///   - clock: nanoseconds of a clock that nobody sets.
    ///   - sentence: says that the limit is reached and what to do.
    ///   - count: looks what is there, and of these parts in any case; when the first bytes are taken, and again when there is
    ///     no room. Nothing where that cannot be said: then what was counted last holds, and without that nobody gets room.
    package init(
        limit: UInt64, clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds,
        sentence: @escaping @Sendable (_ limit: UInt64, _ room: UInt64) -> String,
        count: @escaping @Sendable (_ parts: [UploadID]) -> Count?
    ) {
        (self.clock, self.count, self.sentence) = (clock, count, sentence)
        state = Locked(State(limit: limit))
    }

    /// Of all that a server stores.
    package convenience init(
        ofStore limit: UInt64, clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds,
        count: @escaping @Sendable (_ parts: [UploadID]) -> Count?
    ) {
        let sentence: @Sendable (UInt64, UInt64) -> String = { limit, room in
            "The server stores \(limit) bytes at most, and of these \(room) are left: files have to be removed there, or --quota raised."
        }
        self.init(limit: limit, clock: clock, sentence: sentence, count: count)
    }

    /// Bytes that count.
    package var used: UInt64 {
        countOnce()
        return state.withLock { $0.used }
    }

    /// Bytes that there may be.
    package var currentLimit: UInt64 { state.withLock { $0.limit } }

    /// Holds to another limit from now on.
    package func change(limit: UInt64) {
        state.withLock { $0.limit = limit }
    }

    /// Has something that counts give way where there is no room.
    ///
    /// - Parameter body: called on any thread with what is missing, says whether less is missing behind it.
    package func givesWay(_ body: @escaping @Sendable (_ lacking: UInt64) -> Bool) {
        giving.withLock { $0 = body }
    }

    /// What there has to be less of so that this has room.
    package func lacking(_ count: UInt64) -> UInt64 {
        state.withLock { state in
            let wanted = state.used.addingClamped(count)
            return wanted - min(wanted, state.limit)
        }
    }

    /// Lets something give way that is not needed. To be called without a lock that others wait for: it may take long.
    ///
    /// - Returns: whether another try may succeed.
    package func makeRoom(for count: UInt64) -> Bool {
        let missing = lacking(count)
        guard missing > 0 else { return true }
        guard let body = giving.withLock({ $0 }), body(missing) else { return false }
        return lacking(count) < missing
    }

    /// - Throws: `quotaExceeded`; then nothing is taken.
    package func hold(_ count: UInt64) throws(Failure) {
        try add(count) { $0.held += count }
    }

    package func release(_ count: UInt64) {
        state.withLock { $0.held -= min($0.held, count) }
    }

    /// Lets the part of an upload have so many bytes in all.
    ///
    /// - Throws: `quotaExceeded`; then it has as many as before.
    package func hold(part id: UploadID, upTo size: UInt64) throws(Failure) {
        let present = state.withLock { $0.parts[id] ?? 0 }
        guard size > present else { return }
        try add(size - present) { state in
            // Only one thread at a time works on the size of a part, and one that came between asked for no less.
            let old = state.parts[id] ?? 0
            guard size > old else { return }
            state.parts[id] = size
            state.inParts = state.inParts.addingClamped(size - old)
        }
    }

    /// Bytes that the part of an upload may have.
    package func size(ofPart id: UploadID) -> UInt64 { state.withLock { $0.parts[id] ?? 0 } }

    /// - Parameter left: bytes that it may have from now on.
    package func release(part id: UploadID, but left: UInt64 = 0) {
        state.withLock { state in
            guard let size = state.parts.removeValue(forKey: id) else { return }
            state.inParts = state.inParts - min(state.inParts, size) + min(left, size)
            if left > 0 { state.parts[id] = min(left, size) }
        }
    }

    /// A file has its name now, in place of another.
    package func stored(_ size: UInt64, replacing old: UInt64) {
        state.withLock { state in
            state.stored = state.stored.addingClamped(size)
            state.stored -= min(state.stored, old)
            guard let change = state.change else { return }
            state.change = (change.added.addingClamped(size), change.removed.addingClamped(old))
        }
    }

    /// A file is gone.
    package func removed(_ size: UInt64) { stored(0, replacing: size) }

    private func add(_ count: UInt64, _ take: (inout State) -> Void) throws(Failure) {
        countOnce()
        guard state.withLock({ $0.nextCount != nil }) else {
            throw Failure(
                .busy, "The server cannot say how much of the quota is used: the upload may be sent again later.")
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
            // Somebody may have removed files.
            guard !isLast, countAgain() else {
                throw Failure(.quotaExceeded, sentence(room.limit, room.left))
            }
        }
    }

    /// Before anything is decided. Blocks while it is done for the first time.
    package func countOnce() {
        guard state.withLock({ $0.nextCount == nil }) else { return }
        counting.withLock { _ in
            if state.withLock({ $0.nextCount == nil }) { recount() }
        }
    }

    /// - Returns: false when that was done just now.
    private func countAgain() -> Bool {
        counting.withLock { _ in
            let isDue = state.withLock { state in state.nextCount.map { clock() >= $0 } ?? true }
            if isDue { recount() }
            return isDue
        }
    }

    private var afterInterval: Int64 {
        let (moment, overflow) = clock().addingReportingOverflow(Self.countInterval)
        return overflow ? .max : moment
    }

    private func recount() {
        let before = state.withLock { state in
            state.change = (0, 0)
            return state.parts
        }
        let count = count(Array(before.keys))
        state.withLock { state in
            guard let count else {
                state.change = nil
                if state.nextCount != nil { state.nextCount = afterInterval }
                return
            }
            let change = state.change ?? (0, 0)
            // What came meanwhile may be counted twice until the next time: too much is safe.
            state.stored = count.stored.addingClamped(change.added)
            state.change = nil
            state.nextCount = afterInterval
            if let parts = count.parts { state.replace(before, by: parts) }
        }
    }
}

extension Quota.State {
    /// - Parameters:
    ///   - before: what was known when the parts were looked at; newer ones stay.
    ///   - found: what is there now, each with what it takes so far. One that is still coming keeps what it was promised.
    fileprivate mutating func replace(_ before: [UploadID: UInt64], by found: [UploadID: UInt64]) {
        for id in before.keys where found[id] == nil { parts[id] = nil }
        parts.merge(found) { max($0, $1) }
        inParts = parts.values.reduce(0) { $0.addingClamped($1) }
    }
}

/// Room that is missing.
package enum RoomNeed: Equatable, Sendable {
    /// Bytes of the directory's quota.
    case stored(UInt64)
    /// Bytes of the disk.
    case disk(UInt64)
}
