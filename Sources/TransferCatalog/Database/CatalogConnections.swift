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
        var retry: (at: Int64, error: CatalogError)?
    }

    private struct Reading {
        var connection: CatalogReader?
        /// The file's that it is of.
        var generation = 0
    }

    /// What was recorded through here and is not settled.
    let arrivals = Arrivals()

    private let file: CatalogFile
    private let retryInterval: Int64
    private let report: @Sendable (Catalog.Damage) -> Void
    private let writing = Locked(Writing())
    private let reading = Locked(Reading())

    /// - Parameters:
    ///   - retryInterval: nanoseconds after which a file that could not be opened is tried again: each try costs some
    ///     system calls, and uploads wait for it.
    ///   - report: is told of damage, with a lock held.
    init(
        _ file: CatalogFile, retryInterval: Int64 = 1_000_000_000,
        _ report: @escaping @Sendable (Catalog.Damage) -> Void
    ) {
        self.file = file
        self.retryInterval = retryInterval
        self.report = report
    }

    /// Opens the file for the first time, with a look for damage.
    ///
    /// - Returns: whether it knows nothing.
    func open() throws(CatalogError) -> Bool {
        try writing.withLock { (state) throws(CatalogError) in
            do throws(CatalogError) {
                let writer = try connect(&state, validates: true)
                try writer.settle()
                return try writer.isEmpty()
            } catch {
                try replace(&state, error)
                return true
            }
        }
    }

    /// Closes the file until somebody wants something of it again.
    func close() {
        writing.withLock { state in
            reading.withLock { $0.connection = nil }
            state.connection = nil
        }
    }

    func write(_ body: (CatalogWriter) throws(CatalogError) -> Void) throws(CatalogError) {
        try writing.withLock { (state) throws(CatalogError) in
            do throws(CatalogError) {
                try attempt(body, &state)
            } catch {
                try replace(&state, error)
                try attempt(body, &state)
            }
        }
    }

    func read<T: Sendable>(_ body: (CatalogReader) throws(CatalogError) -> T) throws(CatalogError) -> T {
        var generation = 0
        do throws(CatalogError) {
            return try attempt(body, &generation)
        } catch {
            guard error.condemns else { throw error }
            try writing.withLock { (state) throws(CatalogError) in
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
        _ body: (CatalogWriter) throws(CatalogError) -> Void, _ state: inout Writing
    ) throws(CatalogError) {
        let connection = try connect(&state, validates: false)
        do throws(CatalogError) {
            try body(connection)
        } catch {
            // A connection that saw the disk fail knows less than one that reads everything anew.
            if error.reason == .failed || connection.database.isInTransaction { state.connection = nil }
            throw error
        }
    }

    private func attempt<T: Sendable>(
        _ body: (CatalogReader) throws(CatalogError) -> T, _ generation: inout Int
    ) throws(CatalogError) -> T {
        if reading.withLock({ $0.connection == nil }) {
            // The file must be there, with its tables.
            let current = try writing.withLock { (state) throws(CatalogError) in
                _ = try connect(&state, validates: false)
                return state.generation
            }
            try reading.withLock { (state) throws(CatalogError) in
                if state.connection == nil {
                    state.generation = current
                    state.connection = try file.openReader()
                }
            }
        }
        let (used, found) = reading.withLock { state -> (Int, Result<T, CatalogError>) in
            (state.generation, Result { () throws(CatalogError) in try read(body, &state) })
        }
        generation = used
        return try found.get()
    }

    private func read<T: Sendable>(
        _ body: (CatalogReader) throws(CatalogError) -> T, _ state: inout Reading
    ) throws(CatalogError) -> T {
        // Closed again by now only when the file was found damaged.
        guard let connection = state.connection else {
            throw CatalogError(.unavailable, "The catalog is being replaced.")
        }
        do throws(CatalogError) {
            return try body(connection)
        } catch {
            if error.reason == .failed || connection.database.isInTransaction { state.connection = nil }
            throw error
        }
    }

    private func connect(_ state: inout Writing, validates: Bool) throws(CatalogError) -> CatalogWriter {
        if let connection = state.connection { return connection }
        if let retry = state.retry, monotonicNanoseconds() < retry.at { throw retry.error }
        do throws(CatalogError) {
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
    private func replace(_ state: inout Writing, _ error: CatalogError) throws(CatalogError) {
        guard error.condemns else { throw error }
        state.connection?.database.leaveAlone()
        state.connection = nil
        forgetReader()
        arrivals.removeAll()
        state.generation += 1
        do throws(SystemError) {
            report(Catalog.Damage(error: error, movedTo: try file.moveAside()))
        } catch let failure {
            report(Catalog.Damage(error: error, movedTo: nil))
            let error = CatalogError(.unavailable, "\(error.message) It cannot be moved: \(failure.reason).")
            state.retry = (monotonicDeadline(after: retryInterval), error)
            throw error
        }
    }
}
