import Synchronization
package import TransferSystem

/// Makes connections with the first of the address's hosts that accepts changes.
///
/// Any thread may call it. It begins with the host that was right the last time, so after a fail-over
/// only one attempt waits for the lost host's time-out.
final class PostgresConnector: Sendable {
    let configuration: PostgresConfiguration
    let library: PostgresLibrary
    let counters: PostgresCounters
    private let preferred = Atomic(0)

    init(
        _ configuration: PostgresConfiguration, library: PostgresLibrary, counters: PostgresCounters
    ) {
        (self.configuration, self.library, self.counters) = (configuration, library, counters)
    }

    /// Connects, pins the settings of the session and examines the server.
    ///
    /// - Parameters:
    ///   - deadline: nanoseconds of the monotonic clock.
    ///   - interrupt: ends all waiting of the connection with `closed`.
    /// - Throws: the error of the host with the most to say: a refusal of the user comes before a host that is away.
    func connect(
        until deadline: Int64, interrupt: WakeUp? = nil
    ) throws(PostgresError) -> (connection: PostgresConnection, facts: PostgresServerFacts) {
        let address = configuration.address
        let first = preferred.load(ordering: .relaxed)
        var errors: [PostgresError] = []
        for offset in 0..<address.hostCount {
            let host = (first + offset) % address.hostCount
            do throws(PostgresError) {
                let limit = min(deadline, monotonicDeadline(after: address.connectTimeout))
                let connection = try PostgresConnection(
                    address, host: host, library: library, counters: counters, deadline: limit, interrupt: interrupt)
                let facts = try PostgresSession(configuration: configuration).prepare(connection, until: limit)
                preferred.store(host, ordering: .relaxed)
                return (connection, facts)
            } catch {
                if error.reason == .closed { throw error }
                errors.append(error)
            }
        }
        throw Self.combined(errors)
    }

    /// The error for the operator, from the errors of all hosts.
    static func combined(_ errors: [PostgresError]) -> PostgresError {
        if errors.count == 1, let only = errors.first { return only }
        if let telling = errors.first(where: { !$0.isTransient && $0.reason != .readOnly }) { return telling }
        let messages = errors.map(\.message).joined(separator: " ")
        return PostgresError(.unavailable, "No host of the database accepts changes. \(messages)")
    }
}

/// Counters of a pool, for metrics and for tests that bound the round trips of a call.
package final class PostgresCounters: Sendable {
    /// Connections that were made and examined.
    package let connections = Counter()

    /// Exchanges with a server. Connecting and authenticating are not counted.
    package let roundTrips = Counter()

    /// Transactions whose COMMIT was answered with success.
    package let transactions = Counter()

    /// Attempts to perform a transaction again.
    package let retries = Counter()

    /// Commits with an unknown outcome.
    package let unknownCommits = Counter()

    /// Time from sending a COMMIT to its answer, which includes the statements sent with it.
    package let commitDurations = DurationHistogram()

    package init() {}
}
