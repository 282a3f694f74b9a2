import Testing
import TransferIO

/// Runs tests on separate threads. They wait for processes, and would otherwise block the few threads that all
/// asynchronous tests share.
struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// The number of threads limits the number of concurrent tests, each of which starts several processes.
    private static let pool = BlockingPool(name: "end-to-end", threads: 4)

    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(Self.pool) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    static var ownThreads: Self { OwnThreads() }
}
