import Glibc
import Synchronization
import TransferDatabase
import TransferModel
import TransferPorts
import TransferSystem

/// The connections of a catalog. They are opened when they are first needed, and the file is replaced if it is damaged.
///
/// Lock order: a thread that needs both locks takes the writer's first.
final class CatalogConnections: Sendable {
    private struct Writing {
        var connection: CatalogWriter?
        /// A number that grows whenever the file is replaced.
        var generation = 0
        /// When to try again to open the file, in nanoseconds of the monotonic clock, and why it could not be opened.
        var retry: (at: Int64, error: RecordsError)?
    }

    private struct Reading {
        var connection: CatalogReader?
        /// The generation of the file that the connection is open on.
        var generation = 0
    }

    /// Entries that this process has recorded and that are not indexed yet.
    let arrivals = Arrivals()

    private let file: CatalogFile
    private let retryInterval: Int64
    private let report: @Sendable (RecordsDamage) -> Void
    private let writing = Locked(Writing())
    /// Number of threads that wait for the writer's lock.
    private let waiting = Atomic(0)

    /// The longest wait of a step for other writers: the number of pauses, and the microseconds of each.
    private static let givingWay = (times: 100, pause: UInt32(200))
    private let reading = Locked(Reading())

    /// - Parameters:
    ///   - retryInterval: nanoseconds after which a file that could not be opened is tried again. Each attempt costs
    ///     some system calls, and uploads wait for it.
    ///   - report: called if the file is damaged, with a lock held.
    init(
        _ file: CatalogFile, retryInterval: Int64 = 1_000_000_000,
        _ report: @escaping @Sendable (RecordsDamage) -> Void
    ) {
        self.file = file
        self.retryInterval = retryInterval
        self.report = report
    }

    /// Opens the file for the first time, and checks it for damage.
    ///
    /// - Returns: whether the catalog is empty.
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

    /// Closes the file for good: another server may use the directory from now on, and delayed work must not open the
    /// file again.
    func close() {
        writing.withLock { state in
            reading.withLock { $0.connection = nil }
            state.connection = nil
            state.retry = (.max, RecordsError(.unavailable, "The catalog is closed: the server has stopped."))
        }
    }

    /// Releases the file as a killed process does: nothing is indexed.
    func abandon() {
        writing.withLock { state in
            forgetReader()
            state.connection?.database.leaveAlone()
            state.connection = nil
        }
    }

    /// Whether a thread waits to write.
    var hasWaiting: Bool { waiting.load(ordering: .relaxed) > 0 }

    /// Writes one step of a long change, after waiting for other writers for up to 20 ms. The lock is not fair: a
    /// thread that releases it and takes it again at once mostly gets it before threads that wait.
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
                // Another thread may have replaced the file already.
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
            // After an error of the disk, a new connection reads everything again.
            if error.reason == .failed || connection.database.isInTransaction { state.connection = nil }
            throw error
        }
    }

    private func attempt<T: Sendable>(
        _ body: (CatalogReader) throws(RecordsError) -> T, _ generation: inout Int
    ) throws(RecordsError) -> T {
        if reading.withLock({ $0.connection == nil }) {
            // A writer must have created the file and its tables before a reader can open it.
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
        // The connection is nil only if another thread has just found the file damaged.
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

    /// Moves the file aside if the error says that it is damaged; otherwise throws the error.
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
