internal import CLinux
import Glibc
internal import Synchronization
package import TransferSystem

/// An event loop: one thread, one epoll instance, one job queue. Actors that use it as executor, tasks that prefer it,
/// readiness callbacks and timers run on its thread. Nothing that can block may run here.
///
/// A task of an actor on the loop should also prefer the loop, `Task(executorPreference: loop)`. Without this
/// preference, the runtime first resumes the task on the global pool and then moves it to the actor, so that each wait
/// costs two changes of thread.
///
/// `@unchecked Sendable`: `inbox` is locked. Everything marked "loop only" is used only on the loop's thread, which
/// `assertOnLoop` checks.
package final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    private struct Inbox {
        var jobs: [UnownedJob] = []
        /// Whether the loop is in epoll_wait, or about to enter it, and must be woken for a new job. It is set while
        /// the lock is held under which the queue was found empty, so that no job is missed.
        var isAsleep = false
        var isStopping = false
    }

    private let epoll: Descriptor
    private let wakeup: Descriptor
    private let inbox = Locked(Inbox())

    // Loop only.
    private var registrations = RegistrationTable()
    private var timers = TimerHeap()
    private var running: [UnownedJob] = []
    /// Memory for TLS on the connections of this loop.
    lazy var ciphertext = CiphertextBuffers()
    /// Time of the latest epoll_wait, in nanoseconds of the monotonic clock.
    private var lastLook: Int64 = 0
    private let thread = Atomic<UInt>(0)

    /// epoll tag of the wake-up descriptor; no registration has it.
    private static let wakeupTag = UInt64.max

    /// Most events taken from the kernel at once.
    private static let eventBatch = 256

    /// Creates the loop and starts its thread.
    ///
    /// - Throws: an error if the process has no descriptors or threads left.
    package init(name: String) throws(SystemError) {
        epoll = Descriptor(try system("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
        wakeup = Descriptor(try system("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
        let (poll, wake) = (epoll.number, wakeup.number)
        try system("epoll_ctl") {
            clinux_epoll_ctl(poll, EPOLL_CTL_ADD, wake, EPOLLIN.rawValue | EPOLLET.rawValue, Self.wakeupTag)
        }
        try startThread(name: name) { [self] in run() }
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustWake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if mustWake { wake() }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    package func checkIsolated() {
        // Trap: only a programming error causes this.
        precondition(isOnLoop, "not on the loop's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    /// Ends the loop when its queue is empty. All users of the loop must be closed before, because jobs that are queued
    /// later never run.
    package func stop() {
        inbox.withLock { $0.isStopping = true }
        wake()
    }

    // MARK: For code on the loop

    /// Calls `action` once on the loop, at or after `deadline` (nanoseconds of the monotonic clock).
    package func schedule(at deadline: Int64, _ action: @escaping () -> Void) -> Timer {
        assertOnLoop()
        return Timer(id: timers.add(deadline: deadline, action: action))
    }

    package func cancel(_ timer: Timer) {
        assertOnLoop()
        timers.cancel(timer.id)
    }

    /// A scheduled callback, for `cancel`.
    package struct Timer: Sendable {
        fileprivate let id: UInt64
    }

    /// Suspends the calling task, which must be isolated to this loop, until a time in nanoseconds of the monotonic
    /// clock. If that time has passed, the task continues in the loop's next turn.
    package func wait(until moment: Int64) async {
        await withCheckedContinuation { continuation in
            _ = schedule(at: moment) { continuation.resume() }
        }
    }

    /// Watches a descriptor, edge-triggered, until `deregister`.
    func register(
        _ descriptor: Int32, for interest: Interest, _ handler: any ReadinessHandler
    ) throws(SystemError) -> Registration {
        assertOnLoop()
        let registration = registrations.add(handler)
        do throws(SystemError) {
            try control(EPOLL_CTL_ADD, descriptor, registration, interest)
        } catch {
            registrations.remove(registration)
            throw error
        }
        return registration
    }

    /// Changes which events of a registered descriptor are reported. Events that have already happened are reported at
    /// once.
    func watch(_ descriptor: Int32, _ registration: Registration, for interest: Interest) {
        assertOnLoop()
        // Changing a registration has no reason to fail (epoll_ctl(2)).
        try? control(EPOLL_CTL_MOD, descriptor, registration, interest)
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ registration: Registration, _ interest: Interest
    ) throws(SystemError) {
        try system("epoll_ctl") {
            clinux_epoll_ctl(epoll.number, operation, descriptor, interest.events, registration.tag)
        }
    }

    /// Stops watching. The changed generation invalidates events that were already taken from the kernel. The caller
    /// closes the descriptor, which removes it from epoll.
    func deregister(_ registration: Registration) {
        assertOnLoop()
        registrations.remove(registration)
    }

    private var isOnLoop: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    private func assertOnLoop() {
        // Trap: only a programming error causes this.
        assert(isOnLoop, "not on the loop's thread")
    }

    // MARK: The loop

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        // After the loop's thread has ended, another thread may get its number.
        defer { thread.store(0, ordering: .relaxed) }
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventBatch) { events in
            repeat {
                runJobs()
                fireTimers()
            } while poll(events)
        }
    }

    /// Runs the queued jobs. Jobs that are added by them wait until descriptors and timers were served, so that a chain
    /// of jobs cannot block these.
    private func runJobs() {
        inbox.withLock { swap(&$0.jobs, &running) }
        for job in running {
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        }
        running.removeAll(keepingCapacity: true)
    }

    /// Calls the handlers of ready descriptors. If no job is queued, first waits for a ready descriptor or the next
    /// timer.
    ///
    /// - Returns: false if the loop must end.
    private func poll(_ events: UnsafeMutableBufferPointer<epoll_event>) -> Bool {
        let (mayWait, mustEnd) = inbox.withLock { inbox in
            inbox.isAsleep = inbox.jobs.isEmpty && !inbox.isStopping
            return (inbox.isAsleep, inbox.jobs.isEmpty && inbox.isStopping)
        }
        guard !mustEnd else { return false }
        let count = epoll_wait(epoll.number, events.baseAddress, Int32(events.count), mayWait ? timeout() : 0)
        if mayWait { inbox.withLock { $0.isAsleep = false } }
        lastLook = monotonicNanoseconds()
        // Trap: epoll_wait(2) returns at most as many events as there was room for.
        if count > 0 { dispatch(events[..<Int(count)]) }
        return true
    }

    /// Timeout for epoll_wait in milliseconds, rounded up so that the timer is due when the call returns.
    private func timeout() -> Int32 {
        guard let deadline = timers.nextDeadline() else { return -1 }
        let now = monotonicNanoseconds()
        guard deadline > now else { return 0 }
        return Int32(clamping: (deadline - now) / 1_000_000 + 1)
    }

    private func dispatch(_ events: Slice<UnsafeMutableBufferPointer<epoll_event>>) {
        for var event in events {
            let tag = clinux_epoll_tag(&event)
            guard tag != Self.wakeupTag else {
                drainWakeup()
                continue
            }
            registrations.handler(tag: tag)?.ready(Readiness(epoll: event.events))
        }
    }

    /// Fires timers that were due at the latest epoll_wait. This happens after the jobs that the handlers have queued
    /// since: after a pause of the process all timeouts have passed, and answers that have arrived must be processed
    /// before peers are disconnected.
    private func fireTimers() {
        while let action = timers.popDue(now: lastLook) { action() }
    }

    private func wake() {
        var one: UInt64 = 1
        // Writing fails only if the counter is full, and then the loop is already awake.
        _ = write(wakeup.number, &one, 8)
    }

    private func drainWakeup() {
        var count: UInt64 = 0
        _ = read(wakeup.number, &count, 8)
    }
}
