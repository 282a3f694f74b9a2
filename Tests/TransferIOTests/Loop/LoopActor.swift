import TransferIO

/// An actor on its own loop, for the bodies of tests.
actor LoopActor {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Runs `body` in this task, which prefers the loop meanwhile.
    func run<T: Sendable>(_ body: @Sendable (isolated LoopActor) async throws -> T) async rethrows -> T {
        try await withTaskExecutorPreference(loop) { try await body(self) }
    }
}

/// Runs `body` on a new loop, which stops at the end.
@discardableResult
func onLoop<T: Sendable>(_ body: @Sendable (isolated LoopActor) async throws -> T) async throws -> T {
    let actor = LoopActor(try EventLoop(name: "test-loop"))
    defer { actor.loop.stop() }
    return try await actor.run(body)
}
