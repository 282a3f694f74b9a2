import TransferCluster
import TransferModel
import TransferObjects
import TransferPostgres
import TransferSystem

/// Whether the engines of a cluster answer. Probes may ask at any rate; the engines are asked at most once in five seconds, by one thread.
final class ClusterHealth: Sendable {
    private struct State: Sendable {
        var reasons: [Unreadiness] = []
        /// When the engines were asked, in nanoseconds of the monotonic clock; nil before the first time.
        var asked: Int64?
        var isAsking = false
    }

    /// Nanoseconds for which an answer counts.
    private static let interval: Int64 = 5_000_000_000

    /// Nanoseconds that an engine may take to answer.
    private static let patience: Int64 = 2_000_000_000

    private let state = Locked(State())
    private let monotonic: @Sendable () -> Int64

    init(monotonic: @escaping @Sendable () -> Int64 = monotonicNanoseconds) { self.monotonic = monotonic }

    /// The engines that do not answer.
    ///
    /// - Parameter ask: asks both engines. Not called while another thread waits for it; the earlier answer is returned then.
    func reasons(_ ask: () -> [Unreadiness]) -> [Unreadiness] {
        let now = monotonic()
        let known: [Unreadiness]? = state.withLock { state in
            if let asked = state.asked, state.isAsking || now - asked < Self.interval { return state.reasons }
            (state.asked, state.isAsking) = (now, true)
            return nil
        }
        if let known { return known }
        let reasons = ask()
        state.withLock { state in (state.reasons, state.isAsking) = (reasons, false) }
        return reasons
    }

    /// Asks the engines of a server: whether the database commits and its standbys confirm that, and whether the bucket can be read and
    /// still belongs to the cluster.
    static func ask(_ node: ClusterNode) -> [Unreadiness] {
        var reasons: [Unreadiness] = []
        do throws(PostgresError) { try node.pool.barrier(within: patience) } catch {
            reasons.append(.databaseUnavailable)
        }
        let bucket = node.bucket.within(Interval(nanoseconds: patience))
        do throws(ObjectError) {
            if try ClusterMark(bucket).read() != node.cluster { reasons.append(.bucketUnavailable) }
        } catch {
            reasons.append(.bucketUnavailable)
        }
        return reasons
    }
}
