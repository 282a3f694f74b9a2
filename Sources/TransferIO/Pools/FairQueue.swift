/// Decides which work a thread of a pool does next, by start-time fair queueing over accounts. The work of one account
/// is done in the order in which it was added. No I/O.
///
/// Each account has a position in virtual time, which advances by the cost of the work that was done for it. The
/// account that is furthest behind is next. An account that was idle starts at the position of the others, so that
/// accounts cannot save up turns, and occasional work does not wait for accounts that always have more.
///
/// An account never has all threads: its work may take long, and other accounts must find a thread. One thread in eight
/// is reserved for accounts that are behind, however many others there are.
///
/// An account pays for the processor time that it uses, and for a part of the time that it waits. Bytes that the client
/// has sent pay for most of the work that they cause. Without that, many clients that request much work with few bytes
/// would leave almost no time for a client that sends content.
///
/// Work that computes has at most as many threads as there are processors, unless bytes have paid for it. More threads
/// would not be faster, and would keep the threads of other clients and of connections from the processors. For the
/// same reason, the threads of such work have a lower priority while other accounts are active (`BlockingPool`).
struct FairQueue {
    /// A thread's work for an account, which the thread passes to `finished` afterwards.
    struct Turn {
        fileprivate let account: PoolAccount
        /// Nanoseconds that were charged in advance.
        fileprivate let paid: Int64
        fileprivate let computes: Bool
        let givesWay: Bool
    }

    /// Number of tasks that wait for a thread.
    private(set) var count = 0

    private let threads: Int
    /// Threads that are reserved for accounts that have used no more time than others.
    private let kept: Int
    private let processors: Int
    private var running = 0
    /// Number of running tasks that compute.
    private var computing = 0
    /// Accounts with waiting work. They are few, compared with a server's connections.
    private var ready: [PoolAccount] = []
    /// The virtual time: when a turn last began, the earliest position of all accounts with waiting work.
    private var now: Int64 = 0
    private var latest: PoolAccount?
    /// Time of the latest turn for another account than the turn before, in nanoseconds of the monotonic clock.
    private var changed: Int64?

    /// An account counts as alone when other accounts have had no turn for this many nanoseconds.
    private static let memory: Int64 = 1_000_000_000

    /// - Parameters:
    ///   - threads: number of threads that take work.
    ///   - processors: number of processors that they share.
    init(threads: Int, processors: Int) {
        (self.threads, self.processors) = (threads, max(1, processors))
        kept = threads / Self.keptPart
    }

    /// One thread in this many is reserved.
    private static let keptPart = 8

    mutating func append(_ work: PoolWork, for account: PoolAccount) {
        if account.waiting.count == 0 {
            ready.append(account)
            if account.running == 0 { account.start = max(account.start, now) }
        }
        account.waiting.append(work)
        account.takeCredit()
        count += 1
    }

    /// The work that a thread may take.
    enum Choice {
        case any
        /// Work of accounts that give way: they request more work than they pay for, and are not alone.
        case givingWay
        /// Work of all other accounts.
        case notGivingWay
    }

    /// Takes the next work for a free thread.
    ///
    /// - Parameter time: the present time in nanoseconds of the monotonic clock.
    /// - Returns: nil if no waiting work may run now.
    mutating func next(_ choice: Choice = .any, at time: Int64) -> (work: PoolWork, turn: Turn)? {
        guard let index = nextIndex(choice, at: time) else { return nil }
        let account = ready[index]
        let least = ready.lazy.map(\.start).min() ?? account.start
        guard let work = account.waiting.popFirst() else { return nil }
        if account.waiting.count == 0 { ready.remove(at: index) }
        count -= 1
        running += 1
        account.running += 1
        let computes = account.isCrowding
        if computes { computing += 1 }
        now = max(now, least)
        let paid = account.usual
        account.start += paid
        let givesWay = givesWay(account, at: time)
        note(account, time)
        return (work, Turn(account: account, paid: paid, computes: computes, givesWay: givesWay))
    }

    /// Whether there is work for another thread.
    func hasNext(_ choice: Choice = .any, at time: Int64) -> Bool { nextIndex(choice, at: time) != nil }

    /// - Parameters:
    ///   - duration: nanoseconds from the beginning of the work to its end.
    ///   - computing: nanoseconds during which the work had a processor.
    mutating func finished(_ turn: Turn, after duration: Int64, computing: Int64) {
        let account = turn.account
        let computing = min(computing, duration)
        account.takeCredit()
        // The time in which the work waited for a disk or for other threads occupied one thread, but no processor.
        let cost = computing + (duration - computing) / Int64(threads)
        let free = min(account.credit, cost - cost / Self.paidPart)
        account.credit -= free
        let charge = cost - free
        account.start += charge - turn.paid
        account.usual = (3 * account.usual + charge) / 4
        account.usualDuration = (3 * account.usualDuration + duration) / 4
        account.usualComputing = (3 * account.usualComputing + computing) / 4
        // An account computes if its work uses at least half of a thread's share of the processors.
        let crowd = Int64(max(running, processors))
        account.computes =
            account.isLimited && account.usualComputing >= Self.littleComputing
            && 2 * account.usualComputing * crowd > account.usualDuration * Int64(processors)
        running -= 1
        account.running -= 1
        if turn.computes { self.computing -= 1 }
    }

    /// Nanoseconds of processor time per turn. An account that uses less does not count as computing.
    private static let littleComputing: Int64 = 100_000

    /// The part of a turn's cost that credit cannot cover, one in 16: an account that sends many bytes still pays it,
    /// so that other accounts get turns too.
    private static let paidPart: Int64 = 16

    private func nextIndex(_ choice: Choice, at time: Int64) -> Int? {
        var found: Int?
        for (index, account) in ready.enumerated() where mayRun(account, at: time) && isIn(choice, account, at: time) {
            if found.map({ account.start < ready[$0].start }) ?? true { found = index }
        }
        return found
    }

    /// Decides whether an account may have one more thread. If other accounts are active, it must leave three times as
    /// many threads free as it has, and if it is alone a third as many, so that another account finds a free thread. It
    /// gets few threads because accounts also share disks: four writes of one client, or the removal of a large file,
    /// delay the sync of another client.
    private func mayRun(_ account: PoolAccount, at time: Int64) -> Bool {
        guard running < threads, account.isLimited else { return running < threads }
        // The last threads are for accounts that are behind. An account that was idle starts at the others' position.
        // An account that always has work is ahead of that position, or it has the next turn anyway.
        if running >= threads - kept, account.start > now { return false }
        if account.isCrowding, computing >= processors { return false }
        guard account.running > 0 else { return true }
        let (held, left) = (account.running + 1, threads - running - 1)
        return isAlone(at: time) ? held <= 3 * left : 3 * held <= left
    }

    private func isIn(_ choice: Choice, _ account: PoolAccount, at time: Int64) -> Bool {
        switch choice {
        case .any: true
        case .givingWay: givesWay(account, at: time)
        case .notGivingWay: !givesWay(account, at: time)
        }
    }

    private func givesWay(_ account: PoolAccount, at time: Int64) -> Bool { account.isCrowding && !isAlone(at: time) }

    private func isAlone(at time: Int64) -> Bool { changed.map { time - $0 > Self.memory } ?? true }

    private mutating func note(_ account: PoolAccount, _ time: Int64) {
        guard account.isLimited, account !== latest else { return }
        if latest != nil { changed = time }
        latest = account
    }
}
