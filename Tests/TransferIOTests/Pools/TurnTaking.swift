import Testing
import TransferIO

/// Keeps a test apart from tests that start a process. Between fork and exec the new process holds all descriptors of
/// this one, so a descriptor that was closed here stays open a little longer: a listener still accepts, a port is still
/// in use.
struct TurnTaking: TestTrait, TestScoping {
    private static let turn = Permits(1)

    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await Self.turn.acquire()
        defer { Self.turn.release() }
        try await function()
    }
}

extension Trait where Self == TurnTaking {
    /// The trait of tests that start a process, and of tests that must not run at the same time.
    static var takesTurns: Self { Self() }
}
