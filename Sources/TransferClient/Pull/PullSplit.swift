import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// A long file that comes in parts, over several connections at once. Nothing of it was there before: what was interrupted
/// goes on in one piece, so that the server compares all of it.
final class PullSplit: PullPublishing, Sendable {
    /// Bytes of a part: so many that asking for it costs nothing, and so few that all connections end together.
    private static let leastPart = 2 * UInt64(Limits.blockSize)

    /// All of them are in memory, and how long the file is says the server.
    private static let mostParts: UInt64 = 65_536

    /// Bytes from which on a file is worth several connections.
    private static let leastSize = 8 * UInt64(Limits.blockSize)

    private struct State {
        /// Of the blocks that are there.
        var digests: [UInt64: [UInt8]] = [:]
        var missing = 0
        var arrived: UInt64 = 0
        var failure: Failure?
        /// Whether the room for it was asked for.
        var isReserved = false
        var hasNoRoom = false
        var found: FetchedFile?
        var digest: Digest?
    }

    let file: PullFile
    let staged: StagedFile
    let plan: PullPlan
    private let state = Locked(State())

    init(_ file: PullFile, _ staged: StagedFile, _ plan: PullPlan) {
        (self.file, self.staged, self.plan) = (file, staged, plan)
    }

    static func isWorthwhile(_ file: PullFile, _ plan: PullPlan) -> Bool {
        plan.context.configuration.laneAllowance().most > 1 && file.entry.size >= leastSize
    }

    /// Whether the parts that are left need not come.
    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Lets the plan have all parts in place of the file.
    func begin() {
        // The last one is taken first.
        let parts = Self.parts(of: file.entry.size).map { PullPlan.Item.part(self, $0) }.reversed()
        state.withLock { $0.missing = parts.count }
        plan.add(Array(parts))
        plan.done()
    }

    /// - Returns: whole blocks each, but for the last.
    static func parts(of size: UInt64) -> [Range<UInt64>] {
        let step = max(leastPart, (size / mostParts / leastPart + 1) * leastPart)
        var parts: [Range<UInt64>] = []
        var start: UInt64 = 0
        while start < size {
            let end = start + min(step, size - start)
            parts.append(start..<end)
            start = end
        }
        return parts
    }

    /// Sees to the room for all of it, as soon as it is known what it takes. Who comes meanwhile waits, because what is reserved
    /// matters for what he writes.
    ///
    /// - Throws: `targetFailed`; said once, which ends all of it.
    func reserve(_ found: FetchedFile) throws(Failure) {
        try state.withLock { (state) throws(Failure) in
            guard !state.isReserved else { return }
            state.isReserved = true
            do throws(Failure) {
                try staged.reserve(found.size, filled: found.filled)
            } catch {
                state.hasNoRoom = true
                throw error.local
            }
        }
    }

    /// Bytes have come.
    func progressed(_ bytes: Int, _ lane: PullLane) {
        let arrived = state.withLock { state in
            state.arrived += UInt64(bytes)
            return state.arrived
        }
        let step: UInt64 = 4 << 20
        if arrived / step != (arrived - UInt64(bytes)) / step { lane.progress(file, arrived) }
    }

    /// A part has to come again.
    func lost(_ bytes: UInt64) {
        state.withLock { $0.arrived -= min($0.arrived, bytes) }
    }

    /// A part is there.
    func completed(_ range: Range<UInt64>, _ found: FetchedFile, digests: [UInt8], _ lane: PullLane) {
        let size = file.function(plan.context.configuration).size
        let first = range.lowerBound / UInt64(Limits.blockSize)
        let isLast = state.withLock { state in
            for index in 0..<digests.count / size {
                state.digests[first + UInt64(index)] = Array(digests[index * size..<(index + 1) * size])
            }
            state.missing -= 1
            state.found = found
            return state.missing == 0
        }
        if isLast { finish(lane) } else { plan.done() }
    }

    /// A part will not be there, and so the file neither.
    func failed(_ failure: Failure) {
        state.withLock { $0.failure = $0.failure ?? failure }
        dropped()
    }

    /// A part of what has failed is not asked for any more.
    func dropped() {
        let (isLast, failure) = state.withLock { state in
            state.missing -= 1
            return (state.missing == 0, state.failure)
        }
        guard isLast, let failure else { return plan.done() }
        giveUp(failure)
    }

    private func finish(_ lane: PullLane) {
        let (digests, found, failure) = state.withLock { state in
            (state.digests.sorted { $0.key < $1.key }.flatMap(\.value), state.found, state.failure)
        }
        guard failure == nil, let found else { return giveUp(failure ?? .connectionLost) }
        let configuration = plan.context.configuration
        let digest = BlockTree.root(digests, file.function(configuration))
        guard file.mayHave(digest) else { return giveUp(.decayed) }
        state.withLock { $0.digest = digest }
        do throws(Failure) {
            let publication = file.publication(
                staged, size: file.entry.size, digest, configuration.conflict, found)
            lane.add(self, try lane.opened(file, staged, publication))
        } catch {
            giveUp(error)
        }
    }

    private func giveUp(_ failure: Failure) {
        // Nothing had come before that could be gone on with.
        if failure.isForGood || state.withLock({ $0.hasNoRoom }) { staged.discard() }
        plan.retry(file, failure)
    }

    func published(_ outcome: Result<PublicationOutcome, Failure>) {
        file.opened(from: staged, outcome)
        plan.report(file.report(outcome, state.withLock { $0.digest }), of: file)
    }
}

extension Failure {
    /// The server has read what is on its disk; its catalog knows what was put there.
    static let decayed = Failure(
        .contentLost, "The file no longer is what was stored: the server's disk has lost it.")
}
