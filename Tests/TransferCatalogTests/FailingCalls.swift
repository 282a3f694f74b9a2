import TransferDatabase
import CSQLite
import TransferSystem

@testable import TransferCatalog

/// Makes one call of SQLite after the other fail.
final class FailingCalls: Sendable {
    private struct State {
        var count = 0
        /// The number of the call that fails first, how many fail, and as what.
        var failing: Range<Int> = 0..<0
        var code = SQLITE_FULL
    }

    private let state = Locked(State())

    var calls: DatabaseCalls {
        DatabaseCalls { _ in
            self.state.withLock { state in
                defer { state.count += 1 }
                return state.failing.contains(state.count) ? state.code : SQLITE_OK
            }
        }
    }

    /// Calls since the last `fail` or `pass`.
    var count: Int { state.withLock { $0.count } }

    /// From now on that call fails, counted from here, and so many behind it.
    func fail(_ number: Int, times: Int = 1, as code: Int32) {
        state.withLock { $0 = State(failing: number..<number + times, code: code) }
    }

    /// From now on nothing fails.
    func pass() {
        state.withLock { $0 = State() }
    }
}
