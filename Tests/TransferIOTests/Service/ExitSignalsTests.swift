import Glibc
import Testing

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct ExitSignalsTests {
    /// The signals are blocked on the loop's thread and sent to that thread, so that they do not reach the rest of the
    /// test process.
    @Test(arguments: [SIGTERM, SIGINT]) func arriveOnTheLoop(signal: Int32) async throws {
        try await onLoop { actor in
            ExitSignals.block()
            let signals = try ExitSignals(loop: actor.loop)
            for _ in 0..<2 {
                pthread_kill(pthread_self(), signal)
                await signals.arrived.wait()
            }
            signals.close()
            signals.close()
        }
    }

    @Test func aHangUpAsksForAReload() async throws {
        try await onLoop { actor in
            ExitSignals.block(hangUp: true)
            let signals = try ExitSignals(loop: actor.loop, hangUp: true)
            for _ in 0..<2 {
                pthread_kill(pthread_self(), SIGHUP)
                await signals.reload.wait()
            }
            pthread_kill(pthread_self(), SIGTERM)
            await signals.arrived.wait()
            signals.close()
        }
    }

    @Test(.takesTurns) func blockingThemAlsoIgnoresBrokenPipes() async {
        await #expect(processExitsWith: .success) {
            ExitSignals.block()
            kill(getpid(), SIGPIPE)
        }
    }
}
