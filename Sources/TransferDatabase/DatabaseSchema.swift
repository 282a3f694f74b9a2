package import TransferModel

/// The tables of a database, and the steps from earlier versions to the current one. The version is the file's
/// `user_version`.
package struct DatabaseSchema: Sendable {
    private let steps: [[String]]
    private let name: String

    /// - Parameters:
    ///   - steps: for each version, the statements that turn the version before it into this one. The first step makes
    ///     version 1 from an empty file.
    ///   - name: the name of the database in messages.
    package init(_ steps: [[String]], called name: String) {
        (self.steps, self.name) = (steps, name)
    }

    package var version: Int64 { Int64(steps.count) }

    /// Migrates the file to a version, in one transaction.
    ///
    /// - Parameter target: the version to reach; only tests pass an older one.
    /// - Throws: `unknownVersion` if the file has a version that is not in `steps`.
    package func migrate(_ database: Database, to target: Int64? = nil) throws(RecordsError) {
        let target = target ?? version
        if try check(database) == target { return }
        try database.execute("BEGIN IMMEDIATE")
        do throws(RecordsError) {
            // The version is checked again, because no other program can change the file from now on.
            for step in try check(database)..<max(target, try check(database)) {
                for statement in steps[Int(step)] { try database.execute(statement) }
            }
            try database.execute("PRAGMA user_version = \(target)")
            try database.execute("COMMIT")
        } catch {
            if database.isInTransaction { _ = try? database.execute("ROLLBACK") }
            throw error
        }
    }

    /// Checks the version for a program that only reads.
    ///
    /// - Throws: `unknownVersion` for a newer version, `unavailable` for an older one.
    package func requireCurrent(_ database: Database) throws(RecordsError) {
        let found = try check(database)
        guard found < version else { return }
        throw RecordsError(
            .unavailable,
            found == 0
                ? "The \(name) is empty: the server that created it was interrupted. The next start of a server completes it."
                : "The \(name) was written by an older program. The next start of a server brings it up to date.")
    }

    /// Checks a file that must already have tables.
    ///
    /// - Throws: `damaged` for a file without tables.
    package func requireSome(_ database: Database) throws(RecordsError) {
        guard try check(database) == 0 else { return }
        throw RecordsError(.damaged, "The \(name) is empty, though it had something in it.")
    }

    /// - Returns: the version that the file has.
    private func check(_ database: Database) throws(RecordsError) -> Int64 {
        let found = try database.execute("PRAGMA user_version") ?? 0
        guard found >= 0 else {
            throw RecordsError(.damaged, "The \(name) is damaged: it has version \(found).")
        }
        guard found <= version else {
            throw RecordsError(
                .unknownVersion,
                "The \(name) has version \(found) and this program knows none above \(version): a newer one wrote it. Start that "
                    + "one, or restore a backup from before it.")
        }
        return found
    }
}
