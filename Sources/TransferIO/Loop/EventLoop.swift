internal import CLinux
import Glibc
internal import Synchronization
package import TransferSystem

/// One thread, one epoll instance, one job queue. Actors that name it as their executor, and tasks that prefer it, run
/// on its thread; so do readiness callbacks and timers. Nothing that can block may run here.
///
/// A task that lives on an actor of the loop should prefer the loop as well, `Task(executorPreference: loop)`: the runtime
/// resumes a task without a preference on the global pool and only there finds that it belongs to an actor, so that each
/// wait would cost two changes of thread.
///
/// `@unchecked Sendable`: `inbox` is locked; everything marked "loop only" is touched by the loop's thread alone, which
/// `assertOnLoop` checks.
package final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    private struct Inbox {
        var jobs: [UnownedJob] = []
        /// The loop is in (or about to enter) epoll_wait and must be woken for a new job. Set under the lock that saw the
        /// queue empty, so a job can't slip in between unseen.
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
    /// For the connections of this loop that speak TLS.
    lazy var ciphertext = CiphertextBuffers()
    /// When the loop last looked who is ready, in nanoseconds of the monotonic clock.
    private var lastLook: Int64 = 0
    private let thread = Atomic<UInt>(0)

    /// epoll's tag of the wake-up descriptor; no registration has it.
    private static let wakeupTag = UInt64.max

    /// Events taken from the kernel at once.
    private static let eventBatch = 256

    /// Makes a loop and starts its thread.
    ///
    /// - Throws: when the process has no descriptors or threads left.
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
        // Trap: our own mistake; nothing from outside decides it.
        precondition(isOnLoop, "not on the loop's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    /// Ends the loop when no job is queued any more. Whoever lives on it must be closed before: what is queued later never
    /// runs.
    package func stop() {
        inbox.withLock { $0.isStopping = true }
        wake()
    }

    // MARK: For those on the loop

    /// Calls back once at or after `deadline` (nanoseconds of the monotonic clock), on the loop.
    package func schedule(at deadline: Int64, _ action: @escaping () -> Void) -> Timer {
        assertOnLoop()
        return Timer(id: timers.add(deadline: deadline, action: action))
    }

    package func cancel(_ timer: Timer) {
        assertOnLoop()
        timers.cancel(timer.id)
    }

    /// Names a scheduled callback.
    package struct Timer: Sendable {
        fileprivate let id: UInt64
    }

    /// Suspends the calling task, which must be isolated to this loop, until a moment in nanoseconds of the monotonic clock;
    /// to the next turn of the loop when that has passed.
    package func wait(until moment: Int64) async {
        await withCheckedContinuation { continuation in
            _ = schedule(at: moment) { continuation.resume() }
        }
    }

    /// Watches a descriptor, edge-triggered.
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

    /// What to be told of a registered descriptor. Tells at once what is so already.
    func watch(_ descriptor: Int32, _ registration: Registration, for interest: Interest) {
        assertOnLoop()
        // Changing what is registered has no reason to fail (epoll_ctl(2)).
        try? control(EPOLL_CTL_MOD, descriptor, registration, interest)
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ registration: Registration, _ interest: Interest
    ) throws(SystemError) {
        try system("epoll_ctl") {
            clinux_epoll_ctl(epoll.number, operation, descriptor, interest.events, registration.tag)
        }
    }

    /// Stops watching; events already taken from the kernel are dropped by their generation. The caller closes the
    /// descriptor, which takes it out of epoll.
    func deregister(_ registration: Registration) {
        assertOnLoop()
        registrations.remove(registration)
    }

    private var isOnLoop: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    private func assertOnLoop() {
        // Trap: our own mistake; nothing from outside decides it.
        assert(isOnLoop, "not on the loop's thread")
    }

    // MARK: The loop

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        // The number may be another thread's once this one has ended.
        defer { thread.store(0, ordering: .relaxed) }
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventBatch) { events in
            repeat {
                runJobs()
                fireTimers()
            } while poll(events)
        }
    }

    /// Runs what is queued now. What these jobs queue in turn comes after a look at the descriptors and the timers:
    /// jobs that always cause others would keep those waiting for ever.
    private func runJobs() {
        inbox.withLock { swap(&$0.jobs, &running) }
        for job in running {
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        }
        running.removeAll(keepingCapacity: true)
    }

    /// Tells who is ready; waits for that or for the next timer when no job is queued.
    ///
    /// - Returns: false when the loop must end.
    private func poll(_ events: UnsafeMutableBufferPointer<epoll_event>) -> Bool {
        let (mayWait, mustEnd) = inbox.withLock { inbox in
            inbox.isAsleep = inbox.jobs.isEmpty && !inbox.isStopping
            return (inbox.isAsleep, inbox.jobs.isEmpty && inbox.isStopping)
        }
        guard !mustEnd else { return false }
        let count = epoll_wait(epoll.number, events.baseAddress, Int32(events.count), mayWait ? timeout() : 0)
        if mayWait { inbox.withLock { $0.isAsleep = false } }
        lastLook = monotonicNanoseconds()
        // Trap: epoll_wait(2) gives no more than there was room for.
        if count > 0 { dispatch(events[..<Int(count)]) }
        return true
    }

    /// Milliseconds for epoll_wait, rounded up so that a timer is due when it returns.
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

    /// Fires what was due at the last look at the descriptors, after the jobs of those who were told then that something
    /// has come: a process that was stopped for a while finds all its time-outs over, and must find the answers that have
    /// arrived meanwhile before it gives anybody up.
    private func fireTimers() {
        while let action = timers.popDue(now: lastLook) { action() }
    }

    private func wake() {
        var one: UInt64 = 1
        // Fails only when the counter is full, and then the loop is already awake.
        _ = write(wakeup.number, &one, 8)
    }

    private func drainWakeup() {
        var count: UInt64 = 0
        _ = read(wakeup.number, &count, 8)
    }
}
