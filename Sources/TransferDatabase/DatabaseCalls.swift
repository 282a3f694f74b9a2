/// The calls of SQLite that can fail because of what they work on. Tests put failures in their place.
package struct DatabaseCalls: Sendable {
    /// Asked before each call: a result code other than SQLITE_OK is taken for what the call returned, and the call is not
    /// made. Nothing asks nobody.
    package var failure: (@Sendable (Call) -> Int32)?

    /// Asked behind each commit that took place: a result code other than SQLITE_OK is taken for what it returned, as when all was
    /// written and the sync failed. Nothing asks nobody.
    package var lateFailure: (@Sendable () -> Int32)?

    /// Told of each transaction of the writing connection that was committed, and whether it was synced.
    package var committed: (@Sendable (_ isSynced: Bool) -> Void)?

    /// Told of each transaction of the writing connection that was committed, and how many rows it has changed.
    package var changed: (@Sendable (_ rows: Int) -> Void)?

    /// What is about to be called.
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
