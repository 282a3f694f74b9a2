import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// A long file that several connections fetch in parts. It starts without earlier content: an interrupted file is
/// resumed in one piece, so that the server compares all of it.
final class PullSplit: PullPublishing, Sendable {
    /// The least bytes of a part: enough that requesting it costs nothing, few enough that all connections end
    /// together.
    private static let leastPart = 2 * UInt64(Limits.blockSize)

    /// The most parts of a file: all of them are in memory, and a server can state any length.
    private static let mostParts: UInt64 = 65_536

    /// The least bytes of a file that is worth several connections.
    private static let leastSize = 8 * UInt64(Limits.blockSize)

    private struct State {
        /// The digests of the blocks that have arrived, by number.
        var digests: [UInt64: [UInt8]] = [:]
        var missing = 0
        var arrived: UInt64 = 0
        var failure: Failure?
        /// Whether space for the whole file was reserved.
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

    /// Whether the file has failed, so that the remaining parts are not needed.
    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Adds all parts to the plan in place of the file.
    func begin() {
        // The plan takes the part first that was added last.
        let parts = Self.parts(of: file.entry.size).map { PullPlan.Item.part(self, $0) }.reversed()
        state.withLock { $0.missing = parts.count }
        plan.add(Array(parts))
        plan.done()
    }

    /// - Returns: ranges of whole blocks, except for the last one.
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

    /// Reserves space for the whole file when its holes are known. Other threads wait meanwhile, because their writes
    /// depend on the reservation.
    ///
    /// - Throws: `targetFailed`, at most once; the failure ends the whole file.
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

    /// Counts received bytes, for the progress.
    func progressed(_ bytes: Int, _ lane: PullLane) {
        let arrived = state.withLock { state in
            state.arrived += UInt64(bytes)
            return state.arrived
        }
        let step: UInt64 = 4 << 20
        if arrived / step != (arrived - UInt64(bytes)) / step { lane.progress(file, arrived) }
    }

    /// Takes back the bytes of a part that must be fetched again.
    func lost(_ bytes: UInt64) {
        state.withLock { $0.arrived -= min($0.arrived, bytes) }
    }

    /// Notes a part that has arrived.
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

    /// Notes a part that has failed, and with it the file.
    func failed(_ failure: Failure) {
        state.withLock { $0.failure = $0.failure ?? failure }
        dropped()
    }

    /// Finishes a part that is not fetched because the file has failed.
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
        guard file.mayHave(digest) else { return giveUp(file.otherContent) }
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
        // Without space, the file has no content that is worth keeping.
        if failure.isForGood || state.withLock({ $0.hasNoRoom }) { staged.discard() }
        plan.retry(file, failure)
    }

    func published(_ outcome: Result<PublicationOutcome, Failure>) {
        file.opened(from: staged, outcome)
        plan.report(file.report(outcome, state.withLock { $0.digest }), of: file)
    }
}

extension PullFile {
    /// The failure of a file that has arrived whole, with another digest than the server's catalog has. A server can read
    /// wrongly once, such as from a bucket, so the file is fetched anew before it counts as damaged.
    var otherContent: Failure {
        guard !mustStartAnew else { return .decayed }
        return Failure(.digestMismatch, "The file has arrived with other content than the server has stored.")
    }
}

extension Failure {
    /// The digest of the server's disk differs from that in its catalog.
    static let decayed = Failure(
        .contentLost, "The server's disk has damaged the file.")
}
