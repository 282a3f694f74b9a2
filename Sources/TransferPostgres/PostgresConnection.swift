internal import CPostgres
import Glibc
import TransferSystem

/// A session with a server, used by one thread at a time.
///
/// The connection is always in pipeline mode: `exchange` sends all statements at once and then reads all answers, so
/// that it takes one round trip. After a failure of one statement the server skips the others of the exchange. If the
/// connection itself fails, `failure` is set and the connection has to be released.
///
///     connect ──► idle ◄──► exchange
///                  │            │
///                  └──► failed ◄┘
final class PostgresConnection {
    private let library: PostgresLibrary
    private let handle: OpaquePointer
    private let address: PostgresAddress
    private let notices: PostgresNotices
    private let counters: PostgresCounters

    /// Ends all waiting of a connection whose owner closes; nil if only deadlines do.
    private let interrupt: WakeUp?

    /// Name of the prepared statement for each text and its types.
    private var prepared: [PreparedKey: String] = [:]

    /// The number of names for prepared statements so far. A name of a statement that failed is not used again.
    private var nameCount = 0

    /// The error that ended the connection.
    private(set) var failure: PostgresError?

    /// The host's place in the address.
    let host: Int

    /// The term of the pool in which the connection was made (`PostgresPool.term`).
    var term = 0

    private struct PreparedKey: Hashable {
        let sql: String
        let types: [UInt32]
    }

    /// Connects with one host.
    ///
    /// - Parameters:
    ///   - host: the host's place in the address.
    ///   - deadline: nanoseconds of the monotonic clock. Only resolving the host's name can take longer.
    /// - Throws: the refusal of the server, or `unavailable`.
    init(
        _ address: PostgresAddress, host: Int, library: PostgresLibrary, counters: PostgresCounters, deadline: Int64,
        interrupt: WakeUp? = nil
    ) throws(PostgresError) {
        let parameters = address.parameters(forHost: host)
        let made = withStrings(parameters.map(\.name)) { names in
            withStrings(parameters.map(\.value)) { values in library.calls.PQconnectStartParams(names, values, 0) }
        }
        guard let made else { throw .lost("there is too little memory") }
        (handle, self.library, self.address, self.host) = (made, library, address, host)
        (self.counters, self.interrupt) = (counters, interrupt)
        notices = PostgresNotices(library)
        _ = library.calls.PQsetNoticeReceiver(made, PostgresNotices.receiver, notices.context)
        // The code of a refusal is only in its text, and only in this form.
        _ = library.calls.PQsetErrorVerbosity(made, Int32(cpostgres_errors_verbose))
        try finishConnecting(deadline)
        guard library.calls.PQsetnonblocking(made, 1) == 0, library.calls.PQenterPipelineMode(made) == 1 else {
            throw .lost(said)
        }
        counters.connections.add()
    }

    deinit {
        library.calls.PQfinish(handle)
    }

    private func finishConnecting(_ deadline: Int64) throws(PostgresError) {
        // The first step waits for the socket to be writable (manual, PQconnectPoll).
        var step = Int32(cpostgres_polling_writing)
        guard library.calls.PQstatus(handle) != Int32(cpostgres_connection_bad) else { throw refusal() }
        while step != Int32(cpostgres_polling_ok) {
            switch step {
            case Int32(cpostgres_polling_reading): try wait(Int16(POLLIN), until: deadline)
            case Int32(cpostgres_polling_writing): try wait(Int16(POLLOUT), until: deadline)
            default: throw refusal()
            }
            step = library.calls.PQconnectPoll(handle)
        }
    }

    /// The error of a connection that could not be made.
    private func refusal() -> PostgresError {
        let needsPassword = library.calls.PQconnectionNeedsPassword(handle) != 0
        return PostgresRefusal.error(said, needsPassword: needsPassword, host: address.hostName(host))
    }

    /// The library's last message about the connection, without the password.
    private var said: String {
        PostgresRefusal.trimmed(address.redacted(library.text(library.calls.PQerrorMessage(handle))))
    }

    /// The number of the server's process for this session, for pg_terminate_backend and pg_stat_activity.
    var process: Int32 { library.calls.PQbackendPID(handle) }

    /// The server's version, such as 150018 for 15.18.
    var serverVersion: Int { Int(library.calls.PQserverVersion(handle)) }

    /// The socket, for a listener that waits for notifications.
    var socket: Int32 { library.calls.PQsocket(handle) }

    /// Whether the session is outside of a transaction and can be used for another one.
    var isIdle: Bool {
        failure == nil && library.calls.PQstatus(handle) == Int32(cpostgres_connection_ok)
            && library.calls.PQtransactionStatus(handle) == Int32(cpostgres_transaction_idle)
    }
}

// MARK: Exchanges

extension PostgresConnection {
    /// The server's answer to one statement.
    enum Reply {
        case rows(PostgresRows)
        case failed(PostgresError)
        /// The server has skipped the statement, because one before it had failed.
        case skipped
    }

    /// The answers to the statements of an exchange.
    struct Exchange {
        /// In the order of the statements; fewer if the connection was lost.
        fileprivate(set) var replies: [Reply] = []
        /// Warnings of the server that came between the answer before the last one and the end.
        fileprivate(set) var lastWarnings: [String] = []
        /// The error that ended the connection, if any.
        fileprivate(set) var loss: PostgresError?

        /// The first error: of a statement, or of the connection.
        var error: PostgresError? {
            for case .failed(let error) in replies { return error }
            return loss
        }
    }

    /// Performs statements in one round trip.
    ///
    /// - Parameter deadline: nanoseconds of the monotonic clock. If it passes, the connection fails.
    /// - Throws: `bug` if a parameter cannot be sent; nothing was sent then.
    func exchange(_ statements: [PostgresStatement], until deadline: Int64) throws(PostgresError) -> Exchange {
        var encoded: [PostgresParameters] = []
        for statement in statements { encoded.append(try PostgresParameters(statement.parameters)) }
        var exchange = Exchange()
        if let failure {
            exchange.loss = failure
            return exchange
        }
        do throws(PostgresError) {
            notices.clear()
            counters.roundTrips.add()
            let places = try send(statements, encoded)
            try flush(deadline)
            for place in places {
                notices.clear()
                exchange.replies.append(try receive(place, deadline))
            }
            try receiveSync(deadline)
            exchange.lastWarnings = notices.warnings
        } catch {
            fail(error)
            exchange.loss = error
            exchange.lastWarnings = notices.warnings
        }
        return exchange
    }

    /// Performs statements that all have to succeed.
    ///
    /// - Returns: the rows of each statement.
    func run(_ statements: [PostgresStatement], until deadline: Int64) throws(PostgresError) -> [PostgresRows] {
        let exchange = try exchange(statements, until: deadline)
        if let error = exchange.error { throw error }
        return exchange.replies.compactMap { if case .rows(let rows) = $0 { rows } else { nil } }
    }

    /// A statement that was sent, and whether its preparation was sent before it.
    private struct Place {
        let key: PreparedKey
        /// The name under which this exchange prepares the statement first.
        let preparing: String?
    }

    private func send(
        _ statements: [PostgresStatement], _ encoded: [PostgresParameters]
    ) throws(PostgresError) -> [Place] {
        var names = prepared
        var places: [Place] = []
        for (statement, parameters) in zip(statements, encoded) {
            let key = PreparedKey(sql: statement.sql, types: parameters.types)
            var preparing: String?
            if names[key] == nil, names.count < PostgresLimits.preparedStatements {
                let name = "t\(nameCount)"
                nameCount += 1
                (names[key], preparing) = (name, name)
                let isSent = library.calls.PQsendPrepare(
                    handle, name, statement.sql, Int32(clamping: parameters.types.count), parameters.types)
                guard isSent == 1 else { throw .lost(said) }
            }
            let isSent = parameters.withPointers { values, lengths, formats in
                let count = Int32(clamping: values.count)
                guard let name = names[key] else {
                    return library.calls.PQsendQueryParams(
                        handle, statement.sql, count, parameters.types, values, lengths, formats, 1)
                }
                return library.calls.PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
            }
            guard isSent == 1 else { throw .lost(said) }
            places.append(Place(key: key, preparing: preparing))
        }
        guard library.calls.PQpipelineSync(handle) == 1 else { throw .lost(said) }
        return places
    }

    /// Sends what libpq has buffered. Reads at the same time: a server whose answers are not read stops reading.
    private func flush(_ deadline: Int64) throws(PostgresError) {
        while true {
            let rest = library.calls.PQflush(handle)
            if rest == 0 { return }
            guard rest == 1 else { throw .lost(said) }
            let events = try wait(Int16(POLLIN | POLLOUT), until: deadline)
            if events & Int16(POLLOUT) == 0, library.calls.PQconsumeInput(handle) != 1 { throw .lost(said) }
        }
    }

    private func receive(_ place: Place, _ deadline: Int64) throws(PostgresError) -> Reply {
        guard let name = place.preparing else { return try receiveReply(deadline) }
        let preparing = try receiveReply(deadline)
        let performed = try receiveReply(deadline)
        guard case .rows = preparing else { return preparing }
        // Prepared statements outlive the transaction, also one that is rolled back.
        prepared[place.key] = name
        return performed
    }

    /// Receives the result of one command, and the end behind it.
    private func receiveReply(_ deadline: Int64) throws(PostgresError) -> Reply {
        guard let result = try nextResult(deadline) else { throw .violation("an answer is missing") }
        let reply = try reply(result)
        if let surplus = try nextResult(deadline) {
            library.calls.PQclear(surplus)
            throw .violation("there are two answers to one statement")
        }
        return reply
    }

    private func receiveSync(_ deadline: Int64) throws(PostgresError) {
        guard let result = try nextResult(deadline) else { throw .violation("the end of the answers is missing") }
        defer { library.calls.PQclear(result) }
        guard library.calls.PQresultStatus(result) == Int32(cpostgres_pipeline_sync) else {
            throw .violation("there are more answers than statements")
        }
    }

    /// Waits for the next result, which the caller has to clear.
    ///
    /// - Returns: nil behind the last result of a command.
    private func nextResult(_ deadline: Int64) throws(PostgresError) -> OpaquePointer? {
        while library.calls.PQisBusy(handle) != 0 {
            try wait(Int16(POLLIN), until: deadline)
            guard library.calls.PQconsumeInput(handle) == 1 else { throw lostOrEnded() }
        }
        return library.calls.PQgetResult(handle)
    }

    /// The error for a connection that the server has closed: the server's last words, if there are any.
    private func lostOrEnded() -> PostgresError { notices.fatal.map(redacted) ?? .lost(said) }

    /// Takes ownership of a result.
    private func reply(_ result: OpaquePointer) throws(PostgresError) -> Reply {
        switch library.calls.PQresultStatus(result) {
        case Int32(cpostgres_command_ok), Int32(cpostgres_tuples_ok), Int32(cpostgres_empty_query):
            return .rows(PostgresRows(result, of: library))
        case Int32(cpostgres_pipeline_aborted):
            library.calls.PQclear(result)
            return .skipped
        case Int32(cpostgres_fatal_error):
            defer { library.calls.PQclear(result) }
            guard library.calls.PQresultErrorField(result, Int32(cpostgres_sqlstate)) != nil else {
                // The library has made this result itself: the connection was lost, or the answer was not understood.
                throw lostOrEnded()
            }
            return .failed(redacted(PostgresNotices.error(result, library)))
        default:
            library.calls.PQclear(result)
            throw .violation("it wants to copy")
        }
    }

    private func redacted(_ error: PostgresError) -> PostgresError { error.saying(address.redacted(error.message)) }
}

// MARK: Waiting

extension PostgresConnection {
    /// Ends the use of the connection. The first error stays.
    func fail(_ error: PostgresError) {
        if failure == nil { failure = error }
    }

    /// Notices, without waiting, that the server has closed an idle connection.
    func checkIdle() {
        // A server says why before it closes, so the socket can be readable twice.
        for _ in 0..<3 where failure == nil {
            var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard let count = try? system("poll", { poll(&polled, 1, 0) }), count > 0 else { return }
            if library.calls.PQconsumeInput(handle) != 1 || library.calls.PQisBusy(handle) != 0 { fail(.lost(said)) }
            if let fatal = notices.fatal { fail(fatal) }
        }
    }

    /// Takes what has arrived for a listener.
    ///
    /// - Returns: the notifications that have arrived.
    func takeNotifications() throws(PostgresError) -> [(channel: String, payload: String)] {
        let isConsumed = library.calls.PQconsumeInput(handle) == 1
        var found: [(channel: String, payload: String)] = []
        while let notification = library.calls.PQnotifies(handle) {
            let pointee = notification.pointee
            found.append((library.text(pointee.channel), library.text(pointee.payload)))
            library.calls.PQfreemem(notification)
        }
        if !isConsumed || notices.fatal != nil { fail(lostOrEnded()) }
        if found.isEmpty, let failure { throw failure }
        return found
    }

    /// Waits until the socket is ready.
    ///
    /// - Parameter deadline: nanoseconds of the monotonic clock; nil to wait for the socket or the owner alone.
    /// - Returns: the events of the socket (poll(2)).
    /// - Throws: `closed` if the owner closes, `unavailable` when the deadline passes.
    @discardableResult
    func wait(_ events: Int16, until deadline: Int64?) throws(PostgresError) -> Int16 {
        guard socket >= 0 else { throw .lost(said) }
        var polled = [
            pollfd(fd: socket, events: events, revents: 0),
            pollfd(fd: interrupt?.number ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        do throws(SystemError) {
            try system("poll") {
                poll(&polled, nfds_t(polled.count), deadline.map(Self.milliseconds(until:)) ?? -1)
            }
        } catch {
            throw .lost(error.description)
        }
        if polled[1].revents != 0 { throw PostgresError(.closed, "The connection to the database was closed.") }
        if polled[0].revents != 0 { return polled[0].revents }
        throw PostgresError(
            .unavailable, "The database \(address.hostName(host)) did not answer in time. Check server and network.")
    }

    /// Milliseconds until the deadline, rounded up, for poll(2).
    private static func milliseconds(until deadline: Int64) -> Int32 {
        let (rest, overflow) = deadline.subtractingReportingOverflow(monotonicNanoseconds())
        if overflow { return .max }
        return Int32(clamping: rest <= 0 ? 0 : (rest - 1) / 1_000_000 + 1)
    }
}

/// Calls `body` with an array of C strings that ends with NULL.
private func withStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let pointers = copies.map { UnsafePointer($0) } + [nil]
    return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
}
