import Glibc
import Synchronization
import TransferDatabase
import TransferModel
import TransferPorts
import TransferSystem

/// The connections of a catalog: opens them when they are needed, and replaces the file when it is damaged.
///
/// Lock order: the writer's before the reader's.
final class CatalogConnections: Sendable {
    private struct Writing {
        var connection: CatalogWriter?
        /// Grows whenever the file is replaced.
        var generation = 0
        /// When to try to open it again, in nanoseconds of the monotonic clock, and why it has to be.
        var retry: (at: Int64, error: RecordsError)?
    }

    private struct Reading {
        var connection: CatalogReader?
        /// The file's that it is of.
        var generation = 0
    }

    /// What was recorded through here and is not indexed.
    let arrivals = Arrivals()

    private let file: CatalogFile
    private let retryInterval: Int64
    private let report: @Sendable (RecordsDamage) -> Void
    private let writing = Locked(Writing())
    /// Threads that wait for the writer's lock.
    private let waiting = Atomic(0)

    /// How long a step gives way at most: as often as that, so many microseconds.
    private static let givingWay = (times: 100, pause: UInt32(200))
    private let reading = Locked(Reading())

    /// - Parameters:
    ///   - retryInterval: nanoseconds after which a file that could not be opened is tried again: each try costs some
    ///     system calls, and uploads wait for it.
    ///   - report: is told of damage, with a lock held.
    init(
        _ file: CatalogFile, retryInterval: Int64 = 1_000_000_000,
        _ report: @escaping @Sendable (RecordsDamage) -> Void
    ) {
        self.file = file
        self.retryInterval = retryInterval
        self.report = report
    }

    /// Opens the file for the first time, with a look for damage.
    ///
    /// - Returns: whether it knows nothing.
    func open() throws(RecordsError) -> Bool {
        try writing.withLock { (state) throws(RecordsError) in
            do throws(RecordsError) {
                let writer = try connect(&state, validates: true)
                try writer.index()
                return try writer.isEmpty()
            } catch {
                try replace(&state, error)
                return true
            }
        }
    }

    /// Closes the file for good: another server may have the directory from now on, and work that was put off must not come to it.
    func close() {
        writing.withLock { state in
            reading.withLock { $0.connection = nil }
            state.connection = nil
            state.retry = (.max, RecordsError(.unavailable, "The catalog is closed: the server has stopped."))
        }
    }

    /// Lets go of the file as a process does that dies: nothing is brought in order.
    func abandon() {
        writing.withLock { state in
            forgetReader()
            state.connection?.database.leaveAlone()
            state.connection = nil
        }
    }

    /// Whether a thread waits to write.
    var hasWaiting: Bool { waiting.load(ordering: .relaxed) > 0 }

    /// Writes one step of a long change, after waiting for other writers for up to 20 ms. The lock is not fair: a thread that releases it
    /// and takes it again at once mostly gets it before threads that wait.
    func writeStep(_ body: (CatalogWriter) throws(RecordsError) -> Void) throws(RecordsError) {
        var times = 0
        while hasWaiting, times < Self.givingWay.times {
            usleep(Self.givingWay.pause)
            times += 1
        }
        try write(body)
    }

    func write(_ body: (CatalogWriter) throws(RecordsError) -> Void) throws(RecordsError) {
        waiting.add(1, ordering: .relaxed)
        try writing.withLock { (state) throws(RecordsError) in
            waiting.subtract(1, ordering: .relaxed)
            do throws(RecordsError) {
                try attempt(body, &state)
            } catch {
                try replace(&state, error)
                try attempt(body, &state)
            }
        }
    }

    func read<T: Sendable>(_ body: (CatalogReader) throws(RecordsError) -> T) throws(RecordsError) -> T {
        var generation = 0
        do throws(RecordsError) {
            return try attempt(body, &generation)
        } catch {
            guard error.condemns else { throw error }
            try writing.withLock { (state) throws(RecordsError) in
                // Somebody else may have been faster.
                if state.generation == generation { try replace(&state, error) } else { forgetReader() }
            }
            return try attempt(body, &generation)
        }
    }
}

// MARK: Attempts

extension CatalogConnections {
    private func attempt(
        _ body: (CatalogWriter) throws(RecordsError) -> Void, _ state: inout Writing
    ) throws(RecordsError) {
        let connection = try connect(&state, validates: false)
        do throws(RecordsError) {
            try body(connection)
        } catch {
            // A connection that saw the disk fail knows less than one that reads everything anew.
            if error.reason == .failed || connection.database.isInTransaction { state.connection = nil }
            throw error
        }
    }

    private func attempt<T: Sendable>(
        _ body: (CatalogReader) throws(RecordsError) -> T, _ generation: inout Int
    ) throws(RecordsError) -> T {
        if reading.withLock({ $0.connection == nil }) {
            // The file must be there, with its tables.
            let current = try writing.withLock { (state) throws(RecordsError) in
                _ = try connect(&state, validates: false)
                return state.generation
            }
            try reading.withLock { (state) throws(RecordsError) in
                if state.connection == nil {
                    state.generation = current
                    state.connection = try file.openReader()
                }
            }
        }
        let (used, found) = reading.withLock { state -> (Int, Result<T, RecordsError>) in
            (state.generation, Result { () throws(RecordsError) in try read(body, &state) })
        }
        generation = used
        return try found.get()
    }

    private func read<T: Sendable>(
        _ body: (CatalogReader) throws(RecordsError) -> T, _ state: inout Reading
    ) throws(RecordsError) -> T {
        // Closed again by now only when the file was found damaged.
        guard let connection = state.connection else {
            throw RecordsError(.unavailable, "The catalog is being replaced.")
        }
        do throws(RecordsError) {
            return try body(connection)
        } catch {
            if error.reason == .failed || connection.database.isInTransaction { state.connection = nil }
            throw error
        }
    }

    private func connect(_ state: inout Writing, validates: Bool) throws(RecordsError) -> CatalogWriter {
        if let connection = state.connection { return connection }
        if let retry = state.retry, monotonicNanoseconds() < retry.at { throw retry.error }
        do throws(RecordsError) {
            let connection = try file.openWriter(validates: validates)
            state.connection = connection
            state.retry = nil
            return connection
        } catch {
            if !error.condemns { state.retry = (monotonicDeadline(after: retryInterval), error) }
            throw error
        }
    }

    private func forgetReader() {
        reading.withLock { state in
            state.connection?.database.leaveAlone()
            state.connection = nil
        }
    }

    /// Moves the file aside when the error says that it is of no more use; throws the error when it doesn't.
    private func replace(_ state: inout Writing, _ error: RecordsError) throws(RecordsError) {
        guard error.condemns else { throw error }
        state.connection?.database.leaveAlone()
        state.connection = nil
        forgetReader()
        arrivals.removeAll()
        state.generation += 1
        do throws(SystemError) {
            report(RecordsDamage(error: error, movedTo: try file.moveAside()))
        } catch let failure {
            report(RecordsDamage(error: error, movedTo: nil))
            let error = RecordsError(.unavailable, "\(error.message) It cannot be moved: \(failure.reason).")
            state.retry = (monotonicDeadline(after: retryInterval), error)
            throw error
        }
    }
}
