/// Hooks for the calls of SQLite that can fail because of the file. Tests use them to make calls fail.
package struct DatabaseCalls: Sendable {
    /// Called before each call. If it returns another code than SQLITE_OK, the call is not made and has this result.
    /// Nil has no effect.
    package var failure: (@Sendable (Call) -> Int32)?

    /// Called after each successful commit. If it returns another code than SQLITE_OK, the commit has this result, as
    /// if all pages were written and the sync had failed. Nil has no effect.
    package var lateFailure: (@Sendable () -> Int32)?

    /// Called for each committed transaction of the writing connection; the argument says whether it was synced.
    package var committed: (@Sendable (_ isSynced: Bool) -> Void)?

    /// Called for each committed transaction of the writing connection, with the number of rows that the transaction
    /// has changed.
    package var changed: (@Sendable (_ rows: Int) -> Void)?

    /// The call that is about to be made.
    package enum Call: Sendable {
        case open
        case prepare
        case step
        case commit
    }

    package init(
        failure: (@Sendable (Call) -> Int32)? = nil, committed: (@Sendable (_ isSynced: Bool) -> Void)? = nil
    ) {
        (self.failure, self.committed) = (failure, committed)
    }
}
