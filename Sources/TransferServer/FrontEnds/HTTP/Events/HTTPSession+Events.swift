import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// What a session keeps of an answer that goes on when there is something to tell.
struct EventWatch {
    /// Whether something has come since the answer was last worked on.
    var hasNews = false
    /// Whether it will be told at a moment that is set.
    var isDelayed = false
    /// When it was told last, in nanoseconds of the monotonic clock.
    var lastTold: Int64 = 0
    /// Seconds for which the client has not taken what it was told.
    var stuck = 0
}

/// Events, which the pool is asked for when there are any: between, nothing waits there, and no thread is held.
extension HTTPSession {
    /// Nanoseconds between two words: many uploads at once are one.
    private static let tellingInterval: Int64 = 100_000_000

    /// Bytes that may wait for the client before it is told nothing more. What it misses then stays where it is for a while.
    private static let mostUntold = 64 << 10

    /// Seconds after which a client that takes nothing has no more to expect.
    private static let patience = 30

    /// Between two looks at whether the client may still hear, and how far its uploads are.
    private static let tick = Interval.seconds(1)

    /// Silence of a client that listens: it may say nothing for as long as it likes.
    private static let silence = Interval.seconds(365 * 86_400)

    /// The answer rests; it goes on with what is stored from now on, and once a second.
    func watch() {
        guard watching == nil else { return }
        watching = EventWatch(lastTold: monotonicNanoseconds())
        driver.liveness.timeouts.silence = Self.silence
        driver.liveness.timeouts.heartbeat = Self.silence
        armTimer()
        worker.service.shared.news.watch(number) { [weak self, loop, bell] in
            if bell.ring() { Task(executorPreference: loop) { await self?.newsCame() } }
        }
        // It may have come while the answer was made.
        watching?.hasNews = true
        scheduleTick()
    }

    func unwatch() {
        guard watching != nil else { return }
        watching = nil
        worker.service.shared.news.leave(number)
    }

    private func newsCame() {
        guard let watching, !watching.isDelayed, ending == nil else { return }
        let next = watching.lastTold + Self.tellingInterval
        guard monotonicNanoseconds() < next else { return tell() }
        self.watching?.isDelayed = true
        _ = loop.schedule(at: next) { [weak self] in
            self?.assumeIsolated { session in
                session.watching?.isDelayed = false
                session.tell()
            }
        }
    }

    /// Lets the answer go on, unless the client has not taken what it was told: then the next look will.
    func tell() {
        bell.heard()
        guard watching != nil, ending == nil, !driver.isOver, outbound.count < Self.mostUntold else { return }
        watching?.hasNews = true
        watching?.lastTold = monotonicNanoseconds()
        resumeWork()
    }

    private func scheduleTick() {
        _ = loop.schedule(at: (MonotonicTime.now + Self.tick).nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.ticked() }
        }
    }

    private func ticked() {
        guard let watching, ending == nil, !driver.isOver else { return }
        self.watching?.stuck = outbound.isEmpty ? 0 : watching.stuck + 1
        guard watching.stuck < Self.patience else { return end(.lost("the client takes no events")) }
        tell()
        scheduleTick()
    }
}
