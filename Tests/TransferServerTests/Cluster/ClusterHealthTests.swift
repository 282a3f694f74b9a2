import Testing
import TransferSystem

@testable import TransferServer

/// How often the engines of a cluster are asked whether they answer.
@Suite final class ClusterHealthTests: Sendable {
    private let time = Locked<Int64>(0)
    private let calls = Locked(0)

    private func health() -> ClusterHealth { ClusterHealth { [self] in time.withLock { $0 } } }

    private func ask(_ reasons: [Unreadiness]) -> [Unreadiness] {
        calls.withLock { $0 += 1 }
        return reasons
    }

    @Test func anAnswerCountsForFiveSeconds() {
        let health = health()
        #expect(health.reasons { ask([.databaseUnavailable]) } == [.databaseUnavailable])
        time.withLock { $0 = 4_999_999_999 }
        #expect(health.reasons { ask([]) } == [.databaseUnavailable])
        time.withLock { $0 = 5_000_000_000 }
        #expect(health.reasons { ask([]) } == [])
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func oneThreadAsks() {
        let health = health()
        _ = health.reasons { ask([.bucketUnavailable]) }
        time.withLock { $0 = 10_000_000_000 }
        let outer = health.reasons {
            // While this thread waits for the engines, another one gets the earlier answer.
            time.withLock { $0 = 100_000_000_000 }
            #expect(health.reasons { ask([]) } == [.bucketUnavailable])
            return ask([])
        }
        #expect(outer == [] && calls.withLock { $0 } == 2)
    }
}
