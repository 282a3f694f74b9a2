import TransferDatabase
import CSQLite
import TransferSystem

@testable import TransferCatalog

/// Makes selected calls of SQLite fail.
final class FailingCalls: Sendable {
    private struct State {
        var count = 0
        /// The range of calls that fail, by their numbers.
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

    /// Number of calls since the last `fail` or `pass`.
    var count: Int { state.withLock { $0.count } }

    /// Makes `times` calls fail, beginning with call `number`, counted from this moment.
    func fail(_ number: Int, times: Int = 1, as code: Int32) {
        state.withLock { $0 = State(failing: number..<number + times, code: code) }
    }

    /// From now on no call fails.
    func pass() {
        state.withLock { $0 = State() }
    }
}
