import Testing
import TransferIO

/// Runs tests on threads of their own. They wait for processes, and would otherwise hold the few threads that all
/// asynchronous tests share.
struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// As many tests at a time, and each has several processes.
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
